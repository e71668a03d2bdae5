#pragma once

namespace espalier::python {

/// Throws the exception of a signal handler (Ctrl-C), or one that ends the run if nobody awaits it any more.
void check_signals();

}  // namespace espalier::python
