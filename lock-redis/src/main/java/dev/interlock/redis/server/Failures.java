package dev.interlock.redis.server;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Share;
import java.io.EOFException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisClusterOperationException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;

/**
 * Turns Jedis's exceptions into ours. The type says whether the failure may pass by itself, and the
 * message says what to do.
 */
public final class Failures {

  /**
   * The code at the beginning of an error reply. Servers before 7 put the error of a command in a
   * script into a sentence, after a dash.
   */
  private static final Pattern CODE = Pattern.compile("^([A-Z]{3,})\\b|[ :]-([A-Z]{3,})\\b");

  /**
   * A server may close the connection without sending an alert, because we may still be writing.
   */
  private static final String WANTS_CERTIFICATE =
      "; one that requires client certificates does that (tls-auth-clients)";

  private static final Set<String> OUT_OF_SERVICE =
      Set.of("READONLY", "MASTERDOWN", "LOADING", "NOREPLICAS", "CLUSTERDOWN");

  private static final String FORMAT = "format ";

  private static final String REFUSED_LOGIN = "refuses the user or the password";

  private static final String REFUSED = "the connection was refused; is Redis running there?";

  private final String backend;
  private final String endpoint;
  private final boolean tls;
  private volatile boolean admitted;

  /**
   * Creates the explanations for one backend.
   *
   * @param backend the name of the backend
   * @param endpoint the addresses of its servers, without passwords
   * @param tls whether connections use TLS
   */
  public Failures(String backend, String endpoint, boolean tls) {
    this.backend = backend;
    this.endpoint = endpoint;
    this.tls = tls;
  }

  /**
   * Records that the servers have accepted this client's login. A login or TLS handshake that is
   * refused later may pass: passwords or certificates are being changed, on one side first.
   */
  public void recordAdmission() {
    admitted = true;
  }

  /**
   * {@return the failure as an exception of ours}
   *
   * @param e an exception of Jedis, or one of ours
   */
  public LockException explain(RuntimeException e) {
    return explain(e, "", "");
  }

  /**
   * {@return the failure of the first contact as an exception of ours} The port may be of the wrong
   * kind, with or without TLS.
   *
   * @param e an exception of Jedis, or one of ours
   */
  public LockException explainOpening(RuntimeException e) {
    return tls
        ? explain(e, "; a port without TLS gives none", WANTS_CERTIFICATE)
        : explain(e, "", "; a port with TLS does that (rediss:)");
  }

  /**
   * {@return the failure as an exception of ours, which says if the request was never sent} Only
   * for a request that was not sent before.
   *
   * @param e an exception of Jedis
   */
  public LockException explainUnsent(RuntimeException e) {
    LockException explained = explain(e);
    String problem = unsent(e);
    return explained instanceof LockUnavailableException && problem != null
        ? LockUnavailableException.notSent(backend, endpoint, problem, e)
        : explained;
  }

  /** Returns the reason why a request was not sent, or null if it may have been sent. */
  private static @Nullable String unsent(RuntimeException e) {
    if (e instanceof NotSentException) {
      return String.valueOf(e.getMessage());
    }
    if (find(e, ConnectException.class).isPresent()) {
      return REFUSED;
    }
    boolean isRefusedLogin =
        e instanceof JedisAccessControlException answer
            && code(String.valueOf(answer.getMessage())).equals("WRONGPASS");
    return isRefusedLogin ? REFUSED_LOGIN : null;
  }

  private LockException explain(RuntimeException e, String afterTimeout, String afterBreak) {
    if (e instanceof LockException ours) {
      return ours;
    }
    Optional<JedisDataException> answer = find(e, JedisDataException.class);
    if (answer.isPresent()) {
      return explainAnswer(answer.get());
    }
    return explainConnection(e, afterTimeout, afterBreak);
  }

  private LockException explainAnswer(JedisDataException answer) {
    JedisDataException e = withoutArguments(answer);
    String message = e.getMessage() == null ? "" : e.getMessage();
    if (e instanceof JedisMovedDataException) {
      return wrong("is a node of a Redis Cluster; use redis-cluster://host:port", e);
    }
    String code = code(message);
    return switch (code) {
      case "LOADING" ->
          passing("is still loading its data into memory; it answers when it has finished", e);
      case "READONLY" ->
          passing(
              "is a read-only replica; connect to the primary, or let redis-sentinel: or"
                  + " redis-cluster: find it",
              e);
      case "OOM" -> passing("is out of memory; raise maxmemory, or delete keys", e);
      case "BUSY" -> passing("is running another client's script; SCRIPT KILL ends it", e);
      case "MASTERDOWN" ->
          passing(
              "is a replica that has lost its primary; it answers again when the primary is back",
              e);
      case "CLUSTERDOWN" ->
          passing("is in a cluster that is down: some hash slots have no node", e);
      case "TRYAGAIN" -> passing("is moving the lock's slot to another node at the moment", e);
      case "NOREPLICAS" ->
          passing("refuses writes, because it has fewer replicas than min-replicas-to-write", e);
      case "MISCONF" ->
          passing("refuses writes, because it cannot save its data; its log says why", e);
      case "NOAUTH" ->
          wrong(
              "requires a password; write user:password@host, or :password@host for the default user",
              e);
      case "WRONGPASS" -> notAdmitted(REFUSED_LOGIN, e);
      case "NOPERM" -> forbidden(message, e);
      case "WRONGTYPE" -> wrong("stores something other than a lock under the lock's key", e);
      case "CLOCK" ->
          passing(
              "has a clock that cannot be right; set it, because leases and tokens depend on it: "
                  + message,
              e);
      case "NOSCRIPT" -> passing("forgets scripts as soon as it has loaded them", e);
      case "DENIED" ->
          wrong("is in protected mode: it has no password, and accepts local clients only", e);
      default -> explainSentence(message, e);
    };
  }

  /** Removes the arguments of an unknown command: those of AUTH are user and password. */
  private static JedisDataException withoutArguments(JedisDataException e) {
    String message = String.valueOf(e.getMessage());
    int arguments = message.indexOf(", with args beginning");
    if (arguments < 0) {
      return e;
    }
    JedisDataException shortened = new JedisDataException(message.substring(0, arguments));
    shortened.setStackTrace(e.getStackTrace());
    return shortened;
  }

  private LockException explainSentence(String message, JedisDataException e) {
    if (message.contains("max number of clients")) {
      return passing("has reached its limit of connections (maxclients)", e);
    }
    if (message.contains("unknown command")) {
      return wrong(
          "lacks a command that locks need: it was renamed or disabled, or the server is older than"
              + " Redis 5: "
              + message,
          e);
    }
    if (message.contains("invalid password") || message.contains("AUTH")) {
      return notAdmitted(REFUSED_LOGIN + ": " + message, e);
    }
    if (message.contains("non deterministic")) {
      return wrong("is older than Redis 5; locks need Redis 5 or later", e);
    }
    if (message.contains("DB index is out of range")) {
      return wrong("does not have the database of the URI's path", e);
    }
    if (message.contains("cluster support disabled")) {
      return wrong("is not a node of a cluster; use redis://host:port", e);
    }
    if (message.contains("SELECT is not allowed in cluster mode")) {
      return wrong("is a node of a Redis Cluster, which has database 0 only", e);
    }
    if (message.contains("user executing the script can't")) {
      return forbidden(message, e);
    }
    return passing("answered: " + message, e);
  }

  private LockException forbidden(String message, JedisDataException e) {
    return wrong(
        "does not grant the user the rights that locks need: "
            + message
            + " (commands EVAL, EVALSHA, SCAN, GET, SET, DEL, PEXPIRE, PEXPIREAT, PTTL, TIME, TYPE,"
            + " ZADD, ZRANGE, ZREM, ZSCORE, PUBLISH, SUBSCRIBE, INFO, for Redlock also HDEL,"
            + " HGETALL, HMGET, HSET, and the namespace's keys and channels)",
        e);
  }

  private LockException explainConnection(
      RuntimeException e, String afterTimeout, String afterBreak) {
    if (e instanceof ClientClosedException) {
      return wrong("the Jedis client was closed before the LockClient that uses it", e);
    }
    if (e instanceof NotSentException
        || (e instanceof JedisClusterOperationException && e.getCause() == null)) {
      return passing(String.valueOf(e.getMessage()), e);
    }
    Optional<UnknownHostException> unknown = find(e, UnknownHostException.class);
    if (unknown.isPresent()) {
      return passing("the host is not known: " + unknown.get().getMessage(), e);
    }
    if (find(e, CertificateException.class).isPresent()
        || find(e, CertPathBuilderException.class).isPresent()) {
      return notAdmitted(
          "the server's certificate is not trusted, or is for another host; pass its issuer's"
              + " certificate with caCert=file.pem",
          e);
    }
    if (isTimeout(e)) {
      return passing("no answer in time" + afterTimeout, e);
    }
    Optional<SSLException> handshake = find(e, SSLException.class);
    if (handshake.isPresent()) {
      return explainHandshake(handshake.get(), e, afterBreak);
    }
    if (find(e, ConnectException.class).isPresent()) {
      return passing(REFUSED, e);
    }
    if (find(e, NoRouteToHostException.class).isPresent()) {
      return passing("no route to the host", e);
    }
    String message = String.valueOf(e.getMessage());
    if (message.startsWith("Unknown reply")) {
      return passing("the server that answers is not Redis; is the port right?", e);
    }
    return passing("the connection broke or could not be made: " + message + afterBreak, e);
  }

  private LockException explainHandshake(
      SSLException problem, RuntimeException e, String afterBreak) {
    String message = String.valueOf(problem.getMessage());
    if (message.contains("alert")) {
      return notAdmitted(
          "the server refused the TLS handshake (" + message + ")" + WANTS_CERTIFICATE, e);
    }
    return find(problem, EOFException.class).isPresent()
            || find(problem, SocketException.class).isPresent()
        ? passing("the connection broke during the TLS handshake: " + message + afterBreak, e)
        : wrong("no TLS connection could be made; is this a port without TLS?", e);
  }

  private LockException notAdmitted(String problem, RuntimeException e) {
    return admitted ? passing(problem, e) : wrong(problem, e);
  }

  /**
   * {@return the failure for a key of ours that holds something else}
   *
   * @param reply a script's reply that begins with {@code foreign}
   */
  public LockConfigurationException foreign(List<?> reply) {
    String remedy =
        text(reply.get(2)).startsWith(FORMAT)
            ? "; upgrade this program, or use another namespace"
            : "; delete that key, or use another namespace";
    return wrong(describeForeign(reply) + remedy, null);
  }

  /**
   * {@return a clause that describes the foreign content of a key of ours}
   *
   * @param reply a script's reply that begins with {@code foreign}
   */
  public static String describeForeign(List<?> reply) {
    String problem = text(reply.get(2));
    Share use = StoredShare.use(problem);
    String what = use != null ? StoredShare.describe(use) : describe(problem);
    return "the key \"" + text(reply.get(1)) + "\" holds " + what;
  }

  private static String describe(String problem) {
    return switch (problem) {
      case "no expiry" -> "a value that does not expire";
      case "no lock" -> "a value that is not a lock";
      case "no token" -> "a value that is not a fencing token";
      default ->
          problem.startsWith(FORMAT)
              ? problem + ", which a newer version of Interlock has written"
              : "a " + problem;
    };
  }

  private static String text(Object word) {
    return new String((byte[]) word, StandardCharsets.UTF_8);
  }

  /**
   * {@return a failure that may pass by itself}
   *
   * @param problem the end of the sentence "redis at localhost:6379: …"
   * @param cause the driver's exception, if there is one
   */
  public LockUnavailableException passing(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(backend, endpoint, problem, cause);
  }

  /**
   * {@return a failure that a person must correct}
   *
   * @param problem the end of the sentence "redis at localhost:6379: …"
   * @param cause the driver's exception, if there is one
   */
  public LockConfigurationException wrong(String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(backend + " at " + endpoint + ": " + problem, cause);
  }

  /**
   * {@return whether a reply did not come in time}
   *
   * @param e an exception of Jedis
   */
  public static boolean isTimeout(Throwable e) {
    return find(e, SocketTimeoutException.class).isPresent();
  }

  /**
   * {@return whether another server may have taken this one's place, because it is a replica, is
   * cut off from the others, or is loading its data} The connection is useless then. A new one may
   * lead to the other server, if the address or the name now belongs to that.
   *
   * @param e the server's reply
   */
  public static boolean isOutOfService(JedisDataException e) {
    return e.getMessage() != null && OUT_OF_SERVICE.contains(code(e.getMessage()));
  }

  private static String code(String message) {
    Matcher matcher = CODE.matcher(message);
    while (matcher.find()) {
      String code = matcher.group(1) != null ? matcher.group(1) : matcher.group(2);
      if (!code.equals("ERR")) {
        return code;
      }
    }
    return "";
  }

  /** Searches the causes and the suppressed exceptions, which Jedis uses. */
  private static <T extends Throwable> Optional<T> find(Throwable e, Class<T> type) {
    Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Throwable> queue = new ArrayDeque<>();
    queue.add(e);
    while (!queue.isEmpty()) {
      Throwable next = queue.poll();
      if (!seen.add(next)) {
        continue;
      }
      if (type.isInstance(next)) {
        return Optional.of(type.cast(next));
      }
      Collections.addAll(queue, next.getSuppressed());
      if (next.getCause() != null) {
        queue.add(next.getCause());
      }
    }
    return Optional.empty();
  }
}
