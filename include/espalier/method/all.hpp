#pragma once

/// Registers every method of the library. Include it in one file of a program.

#include <espalier/method/airrag/face.hpp>
#include <espalier/method/baselines/face.hpp>
#include <espalier/method/decex/face.hpp>
#include <espalier/method/decouple/face.hpp>
#include <espalier/method/prorag/face.hpp>
#include <espalier/method/reasonrag/face.hpp>
