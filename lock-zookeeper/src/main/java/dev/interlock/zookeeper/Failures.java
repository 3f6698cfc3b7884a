package dev.interlock.zookeeper;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import java.time.Duration;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * What a failure means to the caller: whether it may pass or has to be set right by a person, and
 * what would be right. The one place where ZooKeeper's errors become ours.
 */
final class Failures {

  static final String BACKEND = "zookeeper";

  private final String endpoint;

  Failures(String endpoint) {
    this.endpoint = endpoint;
  }

  String endpoint() {
    return endpoint;
  }

  /** A failure that may pass. */
  LockUnavailableException passing(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(BACKEND, endpoint, problem, cause);
  }

  /** A failure that a person has to set right. */
  LockConfigurationException wrong(String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(BACKEND + " at " + endpoint + ": " + problem, cause);
  }

  LockUnavailableException unheard(@Nullable Throwable cause) {
    return passing(
        "the leader has not answered for long enough to say how long the session will last", cause);
  }

  LockUnavailableException slow(Duration certain) {
    return passing(
        "a write takes most of the "
            + certain.toMillis()
            + " ms for which it makes the session certain; a longer sessionTimeout may help",
        null);
  }

  LockUnavailableException sessionEnded() {
    return passing("the session has ended", null);
  }

  LockConfigurationException foreignNode(String path) {
    return wrong(
        "the node \""
            + path
            + "\" is no lock client's, and lies where locks are kept; delete it, or use another"
            + " namespace",
        null);
  }

  /** Puts an error that a server or the driver answered with into our words. */
  LockException explain(KeeperException e) {
    return switch (e.code()) {
      case CONNECTIONLOSS -> passing("the connection broke or could not be made", e);
      case OPERATIONTIMEOUT, REQUESTTIMEOUT -> passing("no answer in time", e);
      case SESSIONEXPIRED, SESSIONMOVED, SESSIONCLOSEDREQUIRESASLAUTH ->
          passing("the session has ended", e);
      case NOTREADONLY ->
          passing("is read-only: the server has lost its quorum, and takes no writes", e);
      case THROTTLEDOP, QUOTAEXCEEDED -> passing("is asked for too much: " + e.getMessage(), e);
      case NOAUTH ->
          wrong(
              "does not permit us what locks need at "
                  + e.getPath()
                  + " (create, read and delete); user and password are written as"
                  + " user:password@host",
              e);
      case AUTHFAILED -> wrong("refuses our authentication", e);
      case INVALIDACL ->
          wrong(
              "refuses the access list of the lock's node: it does not take us for any user; are user and"
                  + " password given, or does it check certificates? (If it does neither, write access=anyone.)",
              e);
      case NOCHILDRENFOREPHEMERALS ->
          wrong(
              "the node at "
                  + parent(e.getPath())
                  + " is somebody's ephemeral one, and lies where locks are kept; delete it, or use"
                  + " another namespace",
              e);
      case EPHEMERALONLOCALSESSION ->
          wrong(
              "keeps sessions on single servers, where they cannot own a lock's node; set"
                  + " localSessionsUpgradingEnabled, or do without localSessionsEnabled",
              e);
      case UNIMPLEMENTED -> wrong("is older than ZooKeeper 3.5.3, which locks need", e);
      default -> passing("answered: " + e.getMessage(), e);
    };
  }

  /** Whether the same request may be answered a moment later, on the same session. */
  static boolean isPassing(KeeperException e) {
    return isConnectionLoss(e) || e.code() == Code.OPERATIONTIMEOUT;
  }

  /** Whether what was asked for may have been done, or may yet be. */
  static boolean isInDoubt(KeeperException e) {
    return isPassing(e) || e.code() == Code.REQUESTTIMEOUT || e.code() == Code.SYSTEMERROR;
  }

  static boolean isConnectionLoss(KeeperException e) {
    return e.code() == Code.CONNECTIONLOSS;
  }

  static boolean isNoNode(KeeperException e) {
    return e.code() == Code.NONODE;
  }

  private static String parent(@Nullable String path) {
    return path == null ? "the lock's path" : path.substring(0, Math.max(0, path.lastIndexOf('/')));
  }
}
