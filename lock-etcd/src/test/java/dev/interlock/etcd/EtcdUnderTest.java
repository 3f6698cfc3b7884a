package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.BackendInfo;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.PasswordFile;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A disposable etcd as the kit wants to see it. */
final class EtcdUnderTest implements Server, StoreView {

  // Of a key in the gateway's answer; what is zero, such as no lease, is left out.
  private static final Pattern KEY =
      Pattern.compile(
          "\\{\"key\":\"([^\"]+)\"(?:(?!\"lease\")[^{}])*(\"lease\":\"\\d+\")?[^{}]*\\}");

  /** Who may do what the documents say that clients need. */
  private static final String USER = "app";

  private final EtcdCluster etcd;
  private final boolean asUser;

  private @Nullable PasswordFile password;

  private EtcdUnderTest(EtcdCluster etcd, boolean asUser) {
    this.etcd = etcd;
    this.asUser = asUser;
  }

  /**
   * Starts members that leave it to the operating system when to write to the disk. What they wrote
   * survives the end of their process, which is what tests do to them, and a busy disk delays no
   * answer.
   */
  static EtcdUnderTest start(int members) throws InterruptedException {
    EtcdCluster etcd = Testbed.etcd().members(members).forFaults().withoutSync().start();
    return new EtcdUnderTest(etcd, false).warmedUp();
  }

  /** The same, one member, with another election time-out. */
  static EtcdUnderTest startWithElection(Duration timeout) throws InterruptedException {
    EtcdCluster etcd = Testbed.etcd().forFaults().withoutSync().electionTimeout(timeout).start();
    return new EtcdUnderTest(etcd, false).warmedUp();
  }

  /** The same, one member, for clients who may do what the documents say that they need. */
  static EtcdUnderTest startForUser() throws IOException, InterruptedException {
    EtcdCluster etcd = Testbed.etcd().password("s3cret").forFaults().withoutSync().start();
    Backends.addUser(etcd.leader(), USER, "READWRITE");
    return new EtcdUnderTest(etcd, true).warmedUp();
  }

  /**
   * The usual durations, longer by what a busy machine needs that runs the tests' clients, the
   * server, and for three members three of them: an answer may take seconds then, and a lease of
   * the usual TTL has run out before the lock is granted.
   */
  static Timing timing(BackendInfo info) {
    Timing usual = Timing.of(info, Duration.ofSeconds(8));
    Duration requestTimeout = Duration.ofSeconds(6);
    return new Timing(
        Duration.ofSeconds(3),
        Duration.ofSeconds(8),
        usual.longTtl(),
        requestTimeout,
        usual.bound().minus(usual.requestTimeout()).plus(requestTimeout));
  }

  /**
   * Loads what a client needs, once for all tests of a JVM: they start by the dozen at the same
   * time, and would wait for classes.
   */
  private EtcdUnderTest warmedUp() throws InterruptedException {
    LockOptions patient = LockOptions.builder().requestTimeout(Duration.ofSeconds(30)).build();
    LockOptions fixed = patient.toBuilder().autoRenew(false).build();
    try (LockClient first = LockClient.open(uri(), patient);
        LockClient second = LockClient.open(uri(), fixed)) {
      Lease lease = first.lock("warm-up").acquire();
      lease.renew();
      CompletableFuture<Lease> waiter = second.lock("warm-up").acquireAsync();
      while (first.inspect("warm-up").waiters().isEmpty()) {
        Thread.onSpinWait();
      }
      lease.release();
      waiter.join().release();
    }
    return this;
  }

  @Override
  public String uri() {
    return asUser ? Backends.as(USER, etcd) : etcd.uri();
  }

  @Override
  public List<ServerNode> nodes() {
    return etcd.members().stream().map(member -> (ServerNode) new Node(member)).toList();
  }

  @Override
  public Optional<StoreView> view() {
    return etcd.members().isEmpty() ? Optional.empty() : Optional.of(this);
  }

  @Override
  public boolean delete(String name) throws IOException {
    return etcd.members().isEmpty()
        ? false
        : call(
                "/v3/kv/deleterange",
                range(LockKeys.of(EtcdSettings.defaults().namespace(), name).toString(), ""))
            .contains("\"deleted\"");
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    Matcher keys = KEY.matcher(call("/v3/kv/range", range("", ",\"keys_only\":true")));
    while (keys.find()) {
      String key = new String(Base64.getDecoder().decode(keys.group(1)), UTF_8);
      entries.add(new Entry(Kind.HOLDER, "key " + key, keys.group(2) != null));
    }
    return entries;
  }

  private String call(String path, String json) throws IOException {
    return etcd.leader().call(path, json);
  }

  /** The keys with a prefix, which ends with a slash; or else all there are. */
  private static String range(String prefix, String more) {
    String from = prefix.isEmpty() ? "\0" : prefix;
    String to = prefix.isEmpty() ? "\0" : prefix.substring(0, prefix.length() - 1) + '0';
    return "{\"key\":\"" + base64(from) + "\",\"range_end\":\"" + base64(to) + "\"" + more + "}";
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
  }

  @Override
  public void close() {
    try (etcd;
        PasswordFile unused = password) {
      // both end
    }
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    if (!asUser) {
      return Optional.empty();
    }
    password = PasswordFile.create();
    setPassword(password.password());
    return Optional.of(new WritePermission(password));
  }

  private void setPassword(String password) throws IOException {
    call("/v3/auth/user/changepw", "{\"name\":\"" + USER + "\",\"password\":\"" + password + "\"}");
  }

  private final class WritePermission implements Permissions {
    private final PasswordFile file;

    WritePermission(PasswordFile file) {
      this.file = file;
    }

    @Override
    public String uri() {
      return etcd.uri().replaceFirst("//[^@]*@", "//" + USER + "@")
          + "?passwordFile="
          + file.path();
    }

    /** Ends the tokens of the user as well. */
    @Override
    public boolean changePassword() throws IOException {
      file.change(); // first: etcd has one password of a user
      setPassword(file.password());
      return true;
    }

    @Override
    public void take() throws IOException {
      Backends.permit(etcd.leader(), USER, "READ");
    }

    @Override
    public void giveBack() throws IOException {
      Backends.permit(etcd.leader(), USER, "READWRITE");
    }
  }

  private final class Node implements ServerNode {
    private final EtcdServer member;

    Node(EtcdServer member) {
      this.member = member;
    }

    @Override
    public void pause() {
      member.pause();
    }

    @Override
    public void resume() {
      member.resume();
    }

    @Override
    public void kill() {
      member.kill();
    }

    @Override
    public void restart() {
      member.restart();
    }

    @Override
    public boolean isLeader() {
      return etcd.leader().equals(member);
    }
  }
}
