// expect: Espalier needs
#ifdef __clang__
#undef __clang_major__
#define __clang_major__ 15
#else
#undef __GNUC__
#define __GNUC__ 11
#endif
#include <espalier/core/task.hpp>

int main() {}
