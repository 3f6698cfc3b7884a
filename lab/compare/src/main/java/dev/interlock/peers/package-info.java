/**
 * The locks of other libraries as the compatibility kit wants to see them. Each adapter calls the
 * library's own API and nothing else; what the library does not have, the adapter does not invent.
 */
@NullMarked
package dev.interlock.peers;

import org.jspecify.annotations.NullMarked;
