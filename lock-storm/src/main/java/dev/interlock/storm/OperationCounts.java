package dev.interlock.storm;

/**
 * How often the clients did what, by their histories.
 *
 * @param grants leases that were acquired
 * @param handedOver of these, acquired by a handoff inside a process
 * @param released leases that were released
 * @param renewals explicit renewals that were confirmed
 * @param abandoned leases left to expire on purpose
 * @param cancelled attempts that were cancelled on purpose
 * @param timedOut attempts that timed out while another client held the lock
 * @param unavailable attempts that failed because the store could not be reached
 * @param lost leases that were lost
 * @param reported of these, those whose loss was reported in time
 */
public record OperationCounts(
    long grants,
    long handedOver,
    long released,
    long renewals,
    long abandoned,
    long cancelled,
    long timedOut,
    long unavailable,
    long lost,
    long reported) {}
