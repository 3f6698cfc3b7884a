/**
 * Adapters that let the compatibility kit test the locks of other libraries. Each adapter calls
 * only the library's own API, and does not emulate operations that the library lacks.
 */
@NullMarked
package dev.interlock.peers;

import org.jspecify.annotations.NullMarked;
