// What the checks have found, as lines of JSON for the caller.
#pragma once
#include <string>

#include "observer.h"

namespace emu {

// Where something happened, as one number: an address in the object, or a place in the source under a number of its own
// where the call itself knows it. 0: nowhere in particular.
uint32_t place_of(const void* address);
uint32_t place_of(Site site);

struct Other {
  uint32_t thread = 0;  // block * 1024 + rank
  uint32_t place = 0;
  const char* did = nullptr;  // null: nobody else is involved
};

void report(const char* kind, const std::string& what, uint32_t place, Other other = {});
const char* findings_text();
void clear_findings();

// Forgets everything that the checks know: regions, findings, memory kept after it was freed.
void clear_checks();

}  // namespace emu
