"""The screen: panes, keys and the terminal, and nothing that reads git or runs a kernel."""
