package dev.interlock.storm;

/**
 * How many writes under the locks were accepted and lost, with and without the token.
 *
 * @param guarded writes that the store took because their token was the highest
 * @param refused writes that it refused because it had seen a higher token
 * @param guardedLost guarded writes that were lost; must be 0
 * @param unguarded writes that were made without looking at the token
 * @param unguardedLost of these, those that a stale holder overwrote: what the token is worth
 */
public record WriteCounts(
    long guarded, long refused, long guardedLost, long unguarded, long unguardedLost) {}
