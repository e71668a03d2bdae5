// expect: gold
// What a prompt builder is given holds no gold answer: reading one is a compile error, not a leak.
#include <espalier/rag/state.hpp>

std::string prompt(espalier::rag::State::View view) {
#ifdef FAIL
  return view.gold().front();
#else
  return view.question().text;
#endif
}
