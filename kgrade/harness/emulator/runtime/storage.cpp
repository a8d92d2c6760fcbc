#include "storage.h"

#include <cstring>
#include <vector>

#include "grid.h"
#include "observer.h"

namespace emu {
namespace {

struct Storage {
  unsigned char* address;
  size_t bytes;
};

// A function's static: registrations happen while the object is loaded, in no particular order.
std::vector<Storage>& all_storage() {
  static std::vector<Storage> all;
  return all;
}

}  // namespace

void register_shared(unsigned char* storage, size_t bytes) { all_storage().push_back({storage, bytes}); }

void declare_shared(const unsigned char* storage, size_t bytes, const char* name) {
  if (observer.shared) observer.shared(storage, bytes, name);
}

size_t shared_bytes(unsigned dynamic) {
  size_t sum = dynamic;
  for (const Storage& s : all_storage()) sum += s.bytes;
  return sum;
}

void save_shared(unsigned char* to, unsigned dynamic) {
  memcpy(to, dynamic_storage + kGuard, dynamic);
  to += dynamic;
  for (const Storage& s : all_storage()) {
    memcpy(to, s.address, s.bytes);
    to += s.bytes;
  }
}

void restore_shared(const unsigned char* from, unsigned dynamic) {
  memcpy(dynamic_storage + kGuard, from, dynamic);
  from += dynamic;
  for (const Storage& s : all_storage()) {
    memcpy(s.address, from, s.bytes);
    from += s.bytes;
  }
}

}  // namespace emu
