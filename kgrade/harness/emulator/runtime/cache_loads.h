// Loads and stores with a cache hint: the hint says nothing about the value.
#pragma once

#define EMU_LOAD(name) template <class T> EMU_INLINE T name(const T* address) { return *address; }
EMU_LOAD(__ldg)
EMU_LOAD(__ldca)
EMU_LOAD(__ldcg)
EMU_LOAD(__ldcs)
EMU_LOAD(__ldlu)
EMU_LOAD(__ldcv)
#undef EMU_LOAD
#define EMU_STORE(name) template <class T> EMU_INLINE void name(T* address, T value) { *address = value; }
EMU_STORE(__stwb)
EMU_STORE(__stcg)
EMU_STORE(__stcs)
EMU_STORE(__stwt)
#undef EMU_STORE

inline bool __isGlobal(const void*) { return true; }
