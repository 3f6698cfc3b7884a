package dev.interlock.storm;

/**
 * One fault of the nemesis as it happened. Times are those of {@link System#nanoTime()} in the
 * storm's own process.
 *
 * @param kind what was done, such as {@code server killed}
 * @param target to whom, such as {@code redis-1} or {@code client-2}
 * @param insideModel whether exclusion survives it according to the backend's failure model
 * @param from before it began
 * @param until after it had been undone
 * @param tookEffect whether it was seen to have an effect; one that was not counts as not tested
 * @param note what else there is to say; may be empty
 */
public record InjectedFault(
    String kind,
    String target,
    boolean insideModel,
    long from,
    long until,
    boolean tookEffect,
    String note) {}
