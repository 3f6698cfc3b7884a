package dev.interlock.zookeeper;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/** Turns errors of ZooKeeper and its driver into exceptions of the lock API. */
final class Failures {

  static final String BACKEND = "zookeeper";

  private final String endpoint;
  private volatile BooleanSupplier loginsHaveChanged = () -> false;

  Failures(String endpoint) {
    this.endpoint = endpoint;
  }

  /**
   * Sets how to refresh the logins when the servers deny rights.
   *
   * @param refresh authenticates with new passwords, and returns whether there were any
   */
  void refreshLoginsBy(BooleanSupplier refresh) {
    loginsHaveChanged = refresh;
  }

  String endpoint() {
    return endpoint;
  }

  /** A failure that may pass. */
  LockUnavailableException temporary(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(BACKEND, endpoint, problem, cause);
  }

  /** A failure that lasts until somebody corrects the configuration. */
  LockConfigurationException misconfigured(String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(BACKEND + " at " + endpoint + ": " + problem, cause);
  }

  LockUnavailableException noLeaderContact(@Nullable Throwable cause) {
    return temporary(
        "the leader has not answered for so long that the session may end at any time", cause);
  }

  LockUnavailableException slow(Duration validity) {
    return temporary(
        "writes are slow: one takes most of the "
            + validity.toMillis()
            + " ms for which it confirms the session; set a longer sessionTimeout",
        null);
  }

  LockUnavailableException unconfirmed() {
    return temporary("the session could not be confirmed in time", null);
  }

  LockUnavailableException sessionEnded() {
    return temporary("the session has ended", null);
  }

  LockUnavailableException nodeDeleted() {
    return temporary("this client's node in the queue was deleted", null);
  }

  LockConfigurationException sessionFull() {
    return misconfigured(
        "the locks and waiters on the CuratorFramework's session would need more than "
            + NodeAccount.MAX_BYTES / 1024
            + " KiB for the paths of their nodes; servers could not read the transaction that ends"
            + " such a session. Use more CuratorFrameworks, or open clients by a URI: those begin"
            + " more sessions when they need them",
        null);
  }

  LockConfigurationException foreignNode(String path) {
    return misconfigured(
        "the node \""
            + path
            + "\" was created by another program, or by a later version of Interlock; find out"
            + " which, and delete it, upgrade, or use another namespace",
        null);
  }

  LockConfigurationException notListed(String name) {
    return misconfigured(
        "does not grant this client the right to read the lock \""
            + name
            + "\", and perhaps others, so the listing is not complete; grant the right to read the"
            + " locks' nodes",
        null);
  }

  LockConfigurationException unknownFormat(String path, String data) {
    return misconfigured(
        "locks below "
            + path
            + " are stored in a format that this version of Interlock does not know ("
            + data
            + "); upgrade this program, or use another namespace",
        null);
  }

  LockConfigurationException noChroot(KeeperException e) {
    return misconfigured("the chroot's node does not exist; create it first", e);
  }

  /** Explains an error that a server or the driver reported. */
  LockException explain(KeeperException e) {
    return switch (e.code()) {
      case CONNECTIONLOSS -> temporary("the connection broke or could not be made", e);
      case OPERATIONTIMEOUT, REQUESTTIMEOUT -> temporary("no answer in time", e);
      case SESSIONEXPIRED, SESSIONMOVED, SESSIONCLOSEDREQUIRESASLAUTH ->
          temporary("the session has ended", e);
      case NOTREADONLY ->
          temporary("is read-only: the server has lost its quorum, and takes no writes", e);
      case THROTTLEDOP, QUOTAEXCEEDED ->
          temporary("limits its requests or its data: " + e.getMessage(), e);
      case NOAUTH ->
          loginsHaveChanged.getAsBoolean()
              ? temporary(
                  "denied the request, which was sent with the passwords before they changed", e)
              : misconfigured(
                  "does not grant this client the rights that locks need at "
                      + e.getPath()
                      + " (create, read and delete); write user and password as"
                      + " user:password@host",
                  e);
      case AUTHFAILED -> misconfigured("refuses the client's authentication", e);
      case INVALIDACL ->
          misconfigured(
              "refuses the access list of the lock's node, because it has authenticated no user;"
                  + " give a user and a password, have it check certificates, or write"
                  + " access=anyone",
              e);
      case NOCHILDRENFOREPHEMERALS ->
          misconfigured(
              "the node at "
                  + parent(e.getPath())
                  + " is ephemeral, so no lock client created it; delete it, or use another"
                  + " namespace",
              e);
      case EPHEMERALONLOCALSESSION ->
          misconfigured(
              "keeps local sessions, which cannot own a lock's node; set"
                  + " localSessionsUpgradingEnabled, or turn localSessionsEnabled off",
              e);
      case UNIMPLEMENTED -> misconfigured("is older than ZooKeeper 3.5.3, which locks need", e);
      default -> temporary("answered: " + e.getMessage(), e);
    };
  }

  /** Whether the same request may succeed a moment later, on the same session. */
  static boolean isTemporary(KeeperException e) {
    return isConnectionLoss(e) || e.code() == Code.OPERATIONTIMEOUT;
  }

  /** Whether the servers may have carried out the request, or still may. */
  static boolean isInDoubt(Code code) {
    return switch (code) {
      case CONNECTIONLOSS, OPERATIONTIMEOUT, REQUESTTIMEOUT, SYSTEMERROR -> true;
      default -> false;
    };
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
