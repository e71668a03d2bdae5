#pragma once

namespace espalier::python {

/// Leaves what runs by the exception of a signal handler (Ctrl-C), or because nobody awaits it any more.
void check_signals();

}  // namespace espalier::python
