/**
 * The engine of our own: bit-parallel geometry, bounds, constructive and improving search; no
 * native code.
 *
 * <p>Internal to the library: its few public types serve {@code solve} and may change with any
 * version. Everything here is mutable and confined to one thread unless it says otherwise.
 */
@NullMarked
package dev.slicewright.search;

import org.jspecify.annotations.NullMarked;
