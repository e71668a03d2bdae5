#define ZLIB_VERSION "1.3.1"
#error "broken on purpose"
