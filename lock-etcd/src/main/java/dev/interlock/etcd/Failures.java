package dev.interlock.etcd;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import io.etcd.jetcd.common.exception.ClosedClientException;
import io.etcd.jetcd.common.exception.EtcdException;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Turns failures of etcd and its driver into exceptions of the lock API. */
final class Failures {

  private static final String NAME = "etcd";

  // The alerts of servers that require clients' certificates (RFC 8446, section 6.2). The alert
  // depends on the version of TLS and on the server.
  private static final Pattern CERTIFICATE_ALERT =
      Pattern.compile(
          "fatal alert: (certificate|bad_certificate|unsupported_certificate|unknown_ca"
              + "|access_denied)");

  // Handshake failures that last. All others may pass: the connection may have broken, for example,
  // or the server had no certificate for a moment.
  private static final Pattern NO_TLS =
      Pattern.compile(
          "not an SSL/TLS record|fatal alert: (handshake_failure|protocol_version"
              + "|insufficient_security|no_application_protocol|unrecognized_name)");

  private static final Pattern REFUSED = Pattern.compile("refused", Pattern.CASE_INSENSITIVE);

  private static final String KEYS_OF_LOCKS = "the keys below the namespace";

  private final String endpoint;
  private final String keys;
  private final boolean isOfProgram;
  private volatile boolean admitted;

  Failures(String endpoint) {
    this(endpoint, KEYS_OF_LOCKS, false);
  }

  private Failures(String endpoint, String keys, boolean isOfProgram) {
    this.endpoint = endpoint;
    this.keys = keys;
    this.isOfProgram = isOfProgram;
  }

  /** Returns the failures of the program's own client, which the program may have closed. */
  static Failures ofProgram() {
    return ofProgram(KEYS_OF_LOCKS);
  }

  /** Returns the failures of the program's own client for keys other than those of locks. */
  static Failures ofProgram(String keys) {
    return new Failures("the jetcd client's endpoints", keys, true);
  }

  String endpoint() {
    return endpoint;
  }

  /**
   * Records that the servers have accepted this client. From now on a refused login or TLS
   * handshake counts as temporary, because passwords and certificates may have changed on one side
   * and not yet on the other.
   */
  void recordAdmission() {
    admitted = true;
  }

  private LockException notAdmitted(String problem, Throwable cause) {
    return admitted ? temporary(problem, cause) : misconfigured(problem, cause);
  }

  LockException explain(Throwable failure) {
    List<Throwable> chain = chain(failure);
    Optional<LockException> explained = find(failure, LockException.class);
    if (explained.isPresent()) {
      return explained.get();
    }
    if (saysClosedByProgram(failure)) {
      return misconfigured(
          "the jetcd client was closed before the LockClient that uses it", failure);
    }
    // The innermost failure is the most precise: a failed login is the cause of a failed request.
    for (int i = chain.size() - 1; i >= 0; i--) {
      Status.Code code = code(chain.get(i));
      if (code != null) {
        return explain(code, firstLine(chain.get(i)), failure);
      }
    }
    return isSilence(failure)
        ? temporary("no answer in time", failure)
        : temporary("the request failed: " + failure, failure);
  }

  boolean saysClosedByProgram(Throwable failure) {
    // jetcd's requests go through an executor, which is shut down first.
    return isOfProgram
        && (has(failure, ClosedClientException.class, RejectedExecutionException.class)
            || saysUnavailable(failure, "Channel shutdown"));
  }

  // Netty adds a description of its pipeline.
  private static String firstLine(Throwable e) {
    return message(e).lines().findFirst().orElse("");
  }

  private static String message(Throwable e) {
    return String.valueOf(e.getMessage());
  }

  private LockException explain(Status.Code code, String message, Throwable failure) {
    if (message.contains("authentication failed")) {
      return notAdmitted("refuses the user or the password", failure);
    }
    if (message.contains("authentication is not enabled")) {
      return misconfigured(
          "has no authentication enabled; remove user and password from the URI, or enable it",
          failure);
    }
    if (message.contains("user name is empty")) {
      return misconfigured("needs a user and a password; write user:password@host", failure);
    }
    if (message.contains("database space exceeded")) {
      return temporary(
          "the database has reached its quota (alarm NOSPACE) and takes no writes; compact and"
              + " defragment it, then disarm the alarm",
          failure);
    }
    return switch (code) {
      case PERMISSION_DENIED ->
          misconfigured(
              "does not grant the user the rights that locks need, to read and write "
                  + keys
                  + ": "
                  + message,
              failure);
      case UNAUTHENTICATED -> temporary("does not accept the login: " + message, failure);
      case DEADLINE_EXCEEDED -> temporary("no answer in time", failure);
      case UNAVAILABLE -> unavailable(message, failure);
      case UNIMPLEMENTED ->
          misconfigured("is not etcd, or older than 3.3, which locks need", failure);
      default -> temporary("answered: " + message, failure);
    };
  }

  private LockException unavailable(String message, Throwable failure) {
    LockException plain = plain(failure);
    if (plain != null) {
      return plain;
    }
    if (message.contains("TLS negotiation") || message.contains("TLS handshake")) {
      return closedInHandshake(failure);
    }
    Optional<SSLException> tls = find(failure, SSLException.class);
    if (tls.isPresent() && NO_TLS.matcher(message(tls.get())).find()) {
      return noTls(tls.get(), failure);
    }
    if (message.contains("unresolved address")) {
      return unknownHost(failure);
    }
    if (message.contains("no leader") || message.contains("request timed out")) {
      return temporary("has no quorum: " + message, failure);
    }
    return temporary("the connection broke or could not be made: " + message, failure);
  }

  /** Explains a failure whose exceptions show its cause; returns null for any other. */
  private @Nullable LockException plain(Throwable failure) {
    if (has(failure, CertificateException.class, CertPathBuilderException.class)) {
      return notAdmitted(
          "the server's certificate is not trusted, or is for another host; pass its issuer's"
              + " certificate with caCert=file.pem",
          failure);
    }
    Optional<SSLException> tls = find(failure, SSLException.class);
    if (tls.isPresent() && CERTIFICATE_ALERT.matcher(message(tls.get())).find()) {
      return notAdmitted(
          "the server asks for a client certificate, or does not trust the one that it got; pass"
              + " one with clientCert=file.pem and clientKey=file.pem",
          failure);
    }
    Optional<ConnectException> connect = find(failure, ConnectException.class);
    if (connect.isPresent() && REFUSED.matcher(message(connect.get())).find()) {
      return temporary("the connection was refused; is etcd running there?", failure);
    }
    return has(failure, UnresolvedAddressException.class, UnknownHostException.class)
        ? unknownHost(failure)
        : null;
  }

  /** Explains why {@link Diagnosis} could not connect. */
  LockException notConnected(IOException failure) {
    return plainOr(
        failure, () -> temporary("no connection could be made: " + message(failure), failure));
  }

  /** Explains why the server did not answer {@link Diagnosis} as expected. */
  LockException notGreeted(IOException failure) {
    return plainOr(
        failure,
        () ->
            temporary(
                "the connection was closed at once; is this another server's port, or one with"
                    + " TLS, for which the scheme is etcds?",
                failure));
  }

  /** Explains why the server did not answer {@link Diagnosis} as expected over TLS. */
  LockException notSecured(IOException failure) {
    // A broken or closed connection is also reported as an SSLException.
    return plainOr(
        failure,
        () ->
            failure instanceof SSLException tls
                    && !has(failure, EOFException.class, SocketException.class)
                ? noTls(tls, failure)
                : closedInHandshake(failure));
  }

  private LockException plainOr(Throwable failure, Supplier<LockException> otherwise) {
    LockException plain = plain(failure);
    if (plain != null) {
      return plain;
    }
    return isSilence(failure) ? temporary("no answer in time", failure) : otherwise.get();
  }

  // Temporary, because the connection may just have broken.
  private LockException closedInHandshake(Throwable failure) {
    return temporary(
        "the connection was closed in the TLS handshake; is this a port without TLS?", failure);
  }

  private LockException noTls(SSLException tls, Throwable failure) {
    return misconfigured(
        "no TLS connection could be made (" + message(tls) + "); is this a port without TLS?",
        failure);
  }

  private LockException unknownHost(Throwable failure) {
    return temporary("unknown host", failure);
  }

  /** A failure that may pass. */
  LockUnavailableException temporary(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(NAME, endpoint, problem, cause);
  }

  /** A failure that lasts until somebody corrects the configuration. */
  LockConfigurationException misconfigured(String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(NAME + " at " + endpoint + ": " + problem, cause);
  }

  static boolean saysLeaseIsGone(Throwable failure) {
    return has(failure, Status.Code.NOT_FOUND);
  }

  /** Whether the server refused the request, and certainly carried out no part of it. */
  static boolean saysNothingWasDone(Throwable failure) {
    return has(
        failure,
        Status.Code.PERMISSION_DENIED,
        Status.Code.INVALID_ARGUMENT,
        Status.Code.NOT_FOUND);
  }

  static boolean saysRevisionIsCompacted(Throwable failure) {
    return has(failure, Status.Code.OUT_OF_RANGE);
  }

  /**
   * Whether a member refused the request because it knows no leader. Another member may know one.
   */
  static boolean saysNoLeader(Throwable failure) {
    return saysUnavailable(failure, "etcdserver: no leader");
  }

  private static boolean saysUnavailable(Throwable failure, String message) {
    return chain(failure).stream()
        .anyMatch(e -> code(e) == Status.Code.UNAVAILABLE && message(e).contains(message));
  }

  /** Whether no answer came in time. */
  static boolean isSilence(Throwable failure) {
    return has(failure, TimeoutException.class, SocketTimeoutException.class)
        || has(failure, Status.Code.DEADLINE_EXCEEDED);
  }

  /** Whether the request might succeed over another connection. */
  static boolean isOfConnection(Throwable failure) {
    return isSilence(failure) || has(failure, Status.Code.UNAVAILABLE);
  }

  /**
   * The status of a failure. gRPC reports UNKNOWN if the connection closes while a request is being
   * sent (Utils.statusFromThrowable in grpc-netty). That is UNAVAILABLE here, like every other
   * broken connection.
   */
  private static Status.@Nullable Code code(Throwable e) {
    Status.Code code = reported(e);
    return code == Status.Code.UNKNOWN && e.getCause() instanceof ClosedChannelException
        ? Status.Code.UNAVAILABLE
        : code;
  }

  private static Status.@Nullable Code reported(Throwable e) {
    if (e instanceof StatusRuntimeException status) {
      return status.getStatus().getCode();
    }
    if (e instanceof StatusException status) {
      return status.getStatus().getCode();
    }
    return e instanceof EtcdException etcd ? Status.Code.valueOf(etcd.getErrorCode().name()) : null;
  }

  private static boolean has(Throwable failure, Status.Code... codes) {
    return chain(failure).stream().anyMatch(e -> Arrays.asList(codes).contains(code(e)));
  }

  private static boolean has(Throwable failure, Class<?>... types) {
    return chain(failure).stream()
        .anyMatch(e -> Arrays.stream(types).anyMatch(type -> type.isInstance(e)));
  }

  private static <T extends Throwable> Optional<T> find(Throwable failure, Class<T> type) {
    return chain(failure).stream().filter(type::isInstance).map(type::cast).findFirst();
  }

  private static List<Throwable> chain(Throwable failure) {
    List<Throwable> chain = new ArrayList<>();
    for (Throwable e = failure; e != null && !chain.contains(e); e = e.getCause()) {
      chain.add(e);
    }
    return chain;
  }
}
