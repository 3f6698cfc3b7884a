package dev.interlock.storm;

/**
 * The time in which one lease was certainly held. Times as in {@link InjectedFault}.
 *
 * @param name the lock's name
 * @param client its holder, such as {@code client-2}
 * @param token its fencing token, or 0
 * @param from when it was granted
 * @param until when it ended
 */
public record HeldLease(String name, String client, long token, long from, long until) {}
