package dev.interlock.micrometer;

import static java.util.Objects.requireNonNull;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Assigns each lock's name to one of a few groups, for the tag {@link LockMeter.Tag#LOCK_GROUP}.
 * Every group is a set of time series in the monitoring system, so the number of groups is limited.
 * Once the limit is reached, names of further groups count under {@value #OTHER}.
 *
 * <pre>{@code
 * LockGroups groups = LockGroups.of(name -> name.substring(0, name.indexOf('/')), 20);
 * }</pre>
 *
 * <p>Thread-safe. One object may serve several {@link LockMetrics}, which then share the limit.
 */
public final class LockGroups {

  /** The group of names that belong to no other group. */
  public static final String OTHER = "other";

  static final String NONE = "none";
  private static final LockGroups NO_GROUPS = new LockGroups(name -> NONE, 1);
  private static final Logger log = LoggerFactory.getLogger(LockGroups.class);

  private final Function<? super String, String> groupOf;
  private final int maxGroups;
  private final Set<String> groups = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean failureLogged = new AtomicBoolean();
  private final AtomicBoolean limitLogged = new AtomicBoolean();

  private LockGroups(Function<? super String, String> groupOf, int maxGroups) {
    this.groupOf = groupOf;
    this.maxGroups = maxGroups;
  }

  /** {@return no groups: the tag is {@code none} for every name} */
  public static LockGroups none() {
    return NO_GROUPS;
  }

  /**
   * Returns groups that a function assigns.
   *
   * @param groupOf returns the group of a lock's name. Called for every event, on a thread of the
   *     client; must be thread-safe, and must not block. A name for which it throws, or returns
   *     null or a blank string, counts under {@value #OTHER}.
   * @param maxGroups the maximum number of groups besides {@value #OTHER}; the first groups that
   *     occur are kept
   * @return the groups
   * @throws IllegalArgumentException if the limit is not from 1 to 1000
   */
  public static LockGroups of(Function<? super String, String> groupOf, int maxGroups) {
    if (maxGroups < 1 || maxGroups > 1000) {
      throw new IllegalArgumentException(
          "the limit of groups must be from 1 to 1000, not " + maxGroups);
    }
    return new LockGroups(requireNonNull(groupOf, "groupOf"), maxGroups);
  }

  boolean isNone() {
    return this == NO_GROUPS;
  }

  String of(String name) {
    String group = null;
    try {
      group = groupOf.apply(name);
    } catch (RuntimeException e) {
      if (!failureLogged.getAndSet(true)) {
        log.warn(
            "the function that assigns lock groups failed for \"{}\", which counts as \"{}\";"
                + " further failures are not logged",
            name,
            OTHER,
            e);
      }
    }
    return group == null || group.isBlank() || !isAdmitted(group) ? OTHER : group;
  }

  private boolean isAdmitted(String group) {
    if (groups.contains(group) || group.equals(OTHER)) {
      return true;
    }
    synchronized (groups) {
      if (groups.size() < maxGroups) {
        groups.add(group);
        return true;
      }
    }
    if (!limitLogged.getAndSet(true)) {
      log.warn(
          "there are more than {} groups of locks; further groups count as \"{}\"",
          maxGroups,
          OTHER);
    }
    return false;
  }
}
