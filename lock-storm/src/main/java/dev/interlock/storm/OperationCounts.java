package dev.interlock.storm;

/**
 * What the clients did, as far as their histories tell.
 *
 * @param grants leases that were had
 * @param handedOver of these, had by a handoff inside a process
 * @param released leases given back
 * @param renewals explicit renewals that were confirmed
 * @param abandoned leases left to expire on purpose
 * @param cancelled attempts that were cancelled on purpose
 * @param timedOut attempts whose time was over while somebody else had the lock
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
