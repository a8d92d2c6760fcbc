#include "findings.h"

#include <dlfcn.h>

#include <cstdio>
#include <set>
#include <tuple>
#include <vector>

#include "grid.h"

namespace emu {
namespace {

constexpr unsigned kMost = 200;  // one fault in a loop over everything must not fill the report

std::string text;
unsigned reported = 0;
std::set<std::tuple<std::string, uint32_t, uint32_t>> known;

constexpr uint32_t kNamed = 0x80000000;  // marks the number of a place in the source
std::vector<Site> named;

uintptr_t base() {
  static uintptr_t found = 0;
  Dl_info info;
  if (found == 0 && dladdr(reinterpret_cast<void*>(&base), &info) != 0) found = reinterpret_cast<uintptr_t>(info.dli_fbase);
  return found;
}

std::string quoted(const std::string& raw) {
  std::string out = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return out + "\"";
}

std::string coordinates(uint3 v) {
  return "[" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + "]";
}

std::string located(uint32_t place) {
  if (place == 0) return "";
  if ((place & kNamed) == 0) return ", \"pc\": " + std::to_string(place);
  const Site& site = named[place & ~kNamed];
  return ", \"file\": " + quoted(site.file) + ", \"line\": " + std::to_string(site.line);
}

uint3 spread(unsigned n, uint3 size) { return {n % size.x, n / size.x % size.y, n / size.x / size.y}; }

}  // namespace

// The address after a call stands for the call: one byte back is inside it.
uint32_t place_of(const void* address) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address) - 1 - base());
}

uint32_t place_of(Site site) {
  if (site.file == nullptr) return 0;
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i] == site) return kNamed | static_cast<uint32_t>(i);
  }
  named.push_back(site);
  return kNamed | static_cast<uint32_t>(named.size() - 1);
}

void report(const char* kind, const std::string& what, uint32_t place, Other other) {
  if (reported >= kMost || !known.insert({kind, place, other.place}).second) return;
  ++reported;
  std::string line = "{\"kind\": " + quoted(kind) + ", \"what\": " + quoted(what) + ", \"kernel\": " + quoted(grid.kernel);
  if (machine.on_device) {
    line += ", \"block\": " + coordinates(blockIdx) + ", \"thread\": " + coordinates(threadIdx);
  }
  line += located(place);
  if (other.did != nullptr) {
    line += ", \"other\": {\"did\": " + quoted(other.did) + located(other.place) +
            ", \"block\": " + coordinates(spread(other.thread / kMaxThreads, gridDim)) +
            ", \"thread\": " + coordinates(spread(other.thread % kMaxThreads, blockDim)) + "}";
  }
  text += line + "}\n";
}

const char* findings_text() { return text.c_str(); }

void clear_findings() {
  text.clear();
  known.clear();
  reported = 0;
}

}  // namespace emu
