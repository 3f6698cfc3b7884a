package dev.interlock.jdbc;

import static dev.interlock.jdbc.Backends.claim;
import static dev.interlock.jdbc.Backends.soon;
import static dev.interlock.jdbc.Backends.take;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases for the backends of all databases, which check the backend's results and the table. */
abstract class BackendCases {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final AtomicInteger TABLES = new AtomicInteger();

  private final String table = "locks_" + TABLES.incrementAndGet();
  private final JdbcSettings settings = JdbcSettings.builder().table(table).build();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private LockBackend backend;

  /** {@return the URI of the database} */
  abstract String uri();

  /** {@return a source of new connections of the same user} */
  abstract DataSource source();

  abstract JdbcDatabase database();

  /** {@return whether a statement that has waited for a row decides by the time after the wait} */
  boolean looksAtTheClockLast() {
    return true;
  }

  @BeforeEach
  void open() {
    backend = Backends.open(own());
  }

  private String own() {
    return uri() + (uri().contains("?") ? "&" : "?") + "table=" + table;
  }

  @AfterEach
  void close() throws SQLException {
    backend.close();
    threads.shutdownNow();
    execute("DROP TABLE IF EXISTS " + table);
  }

  private int execute(String sql) throws SQLException {
    try (Connection connection = source().getConnection();
        Statement statement = connection.createStatement()) {
      return statement.executeUpdate(sql);
    }
  }

  private long number(String sql) throws SQLException {
    try (Connection connection = source().getConnection();
        Statement statement = connection.createStatement();
        var rows = statement.executeQuery(sql)) {
      rows.next();
      return rows.getLong(1);
    }
  }

  private void assertBusy(Claim claim) throws InterruptedException {
    assertBusy(backend, claim);
  }

  private static void assertBusy(LockBackend backend, Claim claim) throws InterruptedException {
    assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim, soon()));
  }

  private Renewal renew(Claim claim) throws InterruptedException {
    return backend.renew(Grant.forTtl(claim, 1), soon());
  }

  @Test
  void oneClaimHoldsTheLockAndTokensRise() throws Exception {
    long token = 0;
    for (int i = 0; i < 5; i++) {
      Claim claim = claim("job");
      Grant grant = take(backend, claim);
      assertTrue(grant.token() > token, () -> grant + "");
      token = grant.token();
      Attempt.Busy busy =
          assertInstanceOf(Attempt.Busy.class, backend.tryAcquire(claim("job"), soon()));
      assertEquals("host/1/test", busy.holder());
      assertTrue(busy.retryAfter().compareTo(Backends.TTL.plusMillis(1)) <= 0, busy::toString);
      assertTrue(busy.retryAfter().compareTo(Duration.ofMinutes(3)) > 0, busy::toString);
      assertInstanceOf(Renewal.Confirmed.class, renew(claim));
      assertFalse(backend.release(claim("job"), soon()));
      assertTrue(backend.release(claim, soon()));
      assertFalse(backend.release(claim, soon()));
      assertInstanceOf(Renewal.Lost.class, renew(claim));
    }
    // Leases show it multiplied by 64, which must stay below 2^53.
    assertTrue(token < (1L << 47));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aDeferredReleaseKeepsTheLockForItsTimeWithoutTheClaim(boolean shared) throws Exception {
    Share share = shared ? Share.READ : Share.EXCLUSIVE;
    Claim claim = claim("job", share);
    Grant grant = take(backend, claim);
    assertFalse(backend.releaseAfter(claim("job", share), Duration.ofHours(1), soon()));
    assertTrue(backend.releaseAfter(claim, Duration.ofMinutes(10), soon()));
    // A repetition, as if the first answer had been lost, and an earlier request with a longer
    // time.
    assertTrue(backend.releaseAfter(claim, Duration.ofMinutes(10), soon()));
    assertTrue(backend.releaseAfter(claim, Duration.ofMinutes(20), soon()));
    assertInstanceOf(Renewal.Lost.class, renew(claim));
    assertFalse(backend.release(claim, soon()));
    LockState.Holder holder = backend.inspect("job", soon()).holders().get(0);
    assertEquals("host/1/test", holder.label().orElseThrow());
    assertEquals(grant.token(), holder.fencingToken().orElseThrow());
    Duration remaining = holder.remaining().orElseThrow();
    assertTrue(remaining.compareTo(Duration.ofMinutes(6)) > 0, remaining::toString);
    assertTrue(remaining.compareTo(Duration.ofMinutes(10)) <= 0, remaining::toString);
    assertBusy(claim("job", shared ? Share.WRITE : share));
    assertTrue(backend.revoke("job", soon()));
    assertFalse(backend.releaseAfter(claim, Duration.ofHours(1), soon()));
    assertTrue(backend.forceRelease("job", soon()));

    Claim next = claim("job", share);
    assertTrue(take(backend, next).token() > grant.token());
    assertTrue(backend.releaseAfter(next, Duration.ofMillis(100), soon()));
    Eventually.holds(
        "free",
        () ->
            backend.tryAcquire(claim("job", shared ? Share.WRITE : share), soon())
                instanceof Attempt.Granted);
  }

  @Test
  void aReleaseReservesTheLockForTheLongestWaiter() throws Exception {
    Claim holder = claim("job");
    take(backend, holder);
    try (LockBackend first = Backends.open(own());
        LockBackend second = Backends.open(own())) {
      await(second);
      execute("UPDATE " + table + " SET waits_since = waits_since + 600000000");
      await(first);
      release(backend, holder);
      assertBusy(claim("job"));
      assertBusy(second, waiting("job"));
      assertFalse(backend.inspect("job", soon()).isHeld());
      assertEquals(List.of(), listed(""));
      assertFalse(backend.forceRelease("job", soon()));
      Claim served = waiting("job");
      take(first, served);
      assertTrue(backend.inspect("job", soon()).isHeld());

      assertBusy(second, waiting("job"));
      execute("UPDATE " + table + " SET waits_since = waits_since - 600000000");
      release(first, served);
      assertBusy(first, waiting("job"));
      take(second, claim("job"));
      assertTrue(backend.forceRelease("job", soon()));
      take(backend, claim("job"));
    }
  }

  /** Releases a lock, and extends a reservation until the test is over. */
  private void release(LockBackend from, Claim claim) throws Exception {
    assertTrue(from.release(claim, soon()));
    execute("UPDATE " + table + " SET expires_at = expires_at + 600000000 WHERE claim <> ''");
  }

  @Test
  void aReservationEndsAndOnlyWaitersHaveOne() throws Exception {
    try (LockBackend other = Backends.open(own())) {
      Claim first = claim("job");
      take(backend, first);
      await(other);
      assertTrue(backend.release(first, soon()));
      Claim second = claim("job");
      Attempt attempt = backend.tryAcquire(second, soon());
      while (attempt instanceof Attempt.Busy busy) {
        assertTrue(busy.retryAfter().compareTo(Duration.ofMillis(301)) <= 0, busy::toString);
        Thread.sleep(busy.retryAfter().toMillis());
        attempt = backend.tryAcquire(second, soon());
      }

      assertBusy(other, claim("job"));
      assertTrue(backend.release(second, soon()));
      take(backend, claim("job"));
    }
  }

  @Test
  void aReservationFromBeforeAClockStepBackDoesNotCount() throws Exception {
    Claim holder = claim("job");
    take(backend, holder);
    try (LockBackend other = Backends.open(own())) {
      await(other);
      release(backend, holder);
      execute("UPDATE " + table + " SET granted_at = granted_at + 600000000");
      take(backend, claim("job"));
    }
  }

  /** An observer of an election watches the name long before its client is a candidate. */
  @Test
  void aWatchDoesNotCountAsAWait() throws Exception {
    Claim holder = claim("job");
    take(backend, holder);
    try (LockBackend other = Backends.open(own());
        LockBackend.Watch watch = other.watch("job", new WakeUp(Backends.TIME))) {
      assertBusy(other, waiting("job"));
      assertTrue(backend.release(holder, soon()));
      take(backend, claim("job"));
    }
  }

  /** Attempts twice, because only a second attempt gets a reservation. */
  private static void await(LockBackend waiter) throws Exception {
    assertBusy(waiter, waiting("job"));
    assertBusy(waiter, waiting("job"));
  }

  private static Claim waiting(String name) {
    return claim(name, Share.EXCLUSIVE, Backends.TTL, Duration.ofMinutes(10));
  }

  @Test
  void aRepeatedAttemptIsGrantedAgain() throws Exception {
    Claim claim = claim("job");
    long first = take(backend, claim).token();
    assertTrue(take(backend, claim).token() > first);
    Claim reader = claim("book", Share.READ);
    take(backend, reader);
    take(backend, reader);
    assertEquals(1, backend.inspect("book", soon()).holders().size());
  }

  @Test
  void namesMayContainAnyCharacters() throws Exception {
    List<String> names =
        List.of(
            "\u0000",
            "\u0000\u0000",
            "a",
            "A",
            "a ",
            "a  ",
            "ä",
            "a\u0308",
            "a\u0000",
            "'\\%_",
            "\uD83D\uDD12".repeat(255),
            "\uD83D\uDD12".repeat(254));
    List<Long> tokens = new ArrayList<>();
    for (String name : names) {
      tokens.add(take(backend, claim(name)).token());
      assertBusy(claim(name));
    }
    for (int i = 0; i < names.size(); i++) {
      LockState state = backend.inspect(names.get(i), soon());
      assertEquals(tokens.get(i), state.fencingToken().orElseThrow());
      assertEquals(names.get(i), state.name());
    }
    assertEquals(names.size(), listed("").size());
    assertEquals(3, listed("a ").size() + listed("A").size());
    assertEquals(2, listed("\uD83D").size());
  }

  private List<String> listed(String prefix) throws InterruptedException {
    List<String> names = new ArrayList<>();
    String cursor = null;
    do {
      LockPage page = backend.list(prefix, cursor, 2, soon());
      page.locks().forEach(state -> names.add(state.name()));
      cursor = page.next();
    } while (cursor != null);
    return names;
  }

  @Test
  void heldLocksAreListedInPages() throws Exception {
    for (int i = 0; i < 7; i++) {
      take(backend, claim("job/" + i));
    }
    Claim released = claim("job/7");
    take(backend, released);
    assertTrue(backend.release(released, soon()));
    take(backend, claim("job"));
    take(backend, claim("other", Share.READ));
    assertEquals(7, listed("job/").size());
    assertEquals(9, listed("").size());
    assertEquals(List.of(), listed("nothing"));
  }

  @Test
  void manyLeasesAreRenewedInOneRequest() throws Exception {
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      Duration ttl = i % 2 == 0 ? Backends.TTL : Backends.TTL.plusMillis(1);
      Share share = i % 5 == 0 ? Share.READ : Share.EXCLUSIVE;
      grants.add(take(backend, claim("job/" + i, share, ttl, Duration.ZERO)));
    }
    assertTrue(backend.release(grants.get(3).claim(), soon()));
    assertTrue(backend.release(grants.get(5).claim(), soon()));
    List<Renewal> outcomes = backend.renewAll(grants, soon());
    for (int i = 0; i < 20; i++) {
      Class<?> expected = i == 3 || i == 5 ? Renewal.Lost.class : Renewal.Confirmed.class;
      assertInstanceOf(expected, outcomes.get(i), "grant " + i);
    }
  }

  @Test
  void aNameIsOfOneKindAtATime() throws Exception {
    Claim alone = claim("job");
    take(backend, alone);
    assertRefused(claim("job", Share.READ), "is in use as an exclusive lock");
    assertTrue(backend.release(alone, soon()));

    Claim reader = claim("job", Share.READ);
    long token = take(backend, reader).token();
    assertRefused(claim("job"), "is in use as a read-write lock");
    assertRefused(claim("job", Share.ofSemaphore(1, 3)), "is in use as a read-write lock");
    take(backend, claim("job", Share.READ));
    assertBusy(claim("job", Share.WRITE));
    assertTrue(backend.forceRelease("job", soon()));

    take(backend, claim("job", Share.ofSemaphore(2, 3)));
    assertRefused(claim("job", Share.ofSemaphore(1, 4)), "is in use as a semaphore of 3 permits");
    assertTrue(backend.inspect("job", soon()).fencingToken().orElseThrow() > token);
  }

  private void assertRefused(Claim claim, String problem) {
    LockException refusal =
        assertThrows(LockConfigurationException.class, () -> backend.tryAcquire(claim, soon()));
    assertTrue(String.valueOf(refusal.getMessage()).contains(problem), refusal::toString);
  }

  @Test
  void aRevokedLockStaysTakenAndCannotBeRenewed() throws Exception {
    for (Share share : List.of(Share.EXCLUSIVE, Share.READ)) {
      String name = share.kind().toString();
      assertFalse(backend.revoke(name, soon()));
      Claim claim = claim(name, share);
      take(backend, claim);
      assertTrue(backend.revoke(name, soon()));
      assertInstanceOf(Renewal.Lost.class, renew(claim));
      assertBusy(claim(name, share));
      assertBusy(claim);
      assertTrue(backend.inspect(name, soon()).isHeld());
      assertTrue(backend.release(claim, soon()));
      take(backend, claim(name, share));
      assertTrue(backend.forceRelease(name, soon()));
      assertFalse(backend.forceRelease(name, soon()));
    }
  }

  @Test
  void tokensRiseHoweverTheClockIsSet() throws Exception {
    Claim claim = claim("job");
    take(backend, claim);
    assertTrue(backend.release(claim, soon()));
    long ahead = 1L << 46;
    assertEquals(1, execute("UPDATE " + table + " SET fence = " + ahead));
    for (Share share : List.of(Share.EXCLUSIVE, Share.READ, Share.EXCLUSIVE)) {
      Claim next = claim("job", share);
      assertEquals(++ahead, take(backend, next).token());
      assertTrue(backend.release(next, soon()));
    }
  }

  @Test
  void tokensRiseAfterARowWasDeleted() throws Exception {
    for (Share share : List.of(Share.EXCLUSIVE, Share.READ)) {
      Claim claim = claim("job", share);
      long token = take(backend, claim).token();
      execute("DELETE FROM " + table);
      assertInstanceOf(Renewal.Lost.class, renew(claim));
      assertTrue(take(backend, claim("job", share)).token() > token);
      execute("DELETE FROM " + table);
    }
  }

  @Test
  void rowsAreDeletedWhenTheirTokensMayBeForgotten() throws Exception {
    Claim heldClaim = claim("held");
    take(backend, heldClaim);
    for (int i = 0; i < 100; i++) {
      Claim claim = claim("job/" + i);
      take(backend, claim);
      assertTrue(backend.release(claim, soon()));
    }
    assertEquals(101, number("SELECT count(*) FROM " + table));
    execute("UPDATE " + table + " SET purge_after = 0 WHERE claim = ''");
    for (int i = 0; i < 40; i++) {
      Claim claim = claim("new/" + i);
      take(backend, claim);
      assertTrue(backend.release(claim, soon()));
    }
    assertEquals(41, number("SELECT count(*) FROM " + table));
    assertInstanceOf(Renewal.Confirmed.class, renew(heldClaim));
  }

  @Test
  void aLockedRowDoesNotReviveALease() throws Exception {
    assumeTrue(looksAtTheClockLast(), "another statement comes last on this database");
    Claim ended = claim("job", Share.EXCLUSIVE, Duration.ofMillis(300), Duration.ZERO);
    Claim shared = claim("book", Share.READ, Duration.ofMillis(300), Duration.ZERO);
    List<Future<Renewal>> renewals = new ArrayList<>();
    try (Connection connection = source().getConnection()) {
      connection.setAutoCommit(false);
      take(backend, ended);
      take(backend, shared);
      try (Statement statement = connection.createStatement()) {
        statement.executeUpdate("UPDATE " + table + " SET granted_at = granted_at");
      }
      renewals.add(threads.submit(() -> renew(ended)));
      renewals.add(threads.submit(() -> renew(shared)));
      awaitPassed(ended);
      awaitPassed(shared);
      connection.rollback();
    }
    for (Future<Renewal> renewal : renewals) {
      assertInstanceOf(
          Renewal.Lost.class, renewal.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS));
    }
    take(backend, claim("job"));
  }

  /** Waits until the lease has ended by the server's clock, without locking the row. */
  private void awaitPassed(Claim claim) throws InterruptedException {
    while (backend.inspect(claim.name(), soon()).isHeld()) {
      Thread.sleep(5);
    }
  }

  @Test
  void anAttemptOnALockedRowFailsInTimeAndIsGrantedInFullLater() throws Exception {
    try (LockBackend impatient = Backends.open(own(), Duration.ofSeconds(2));
        Connection connection = source().getConnection()) {
      Claim claim = claim("job");
      take(backend, claim);
      assertTrue(backend.release(claim, soon()));
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        statement.executeUpdate("UPDATE " + table + " SET granted_at = granted_at");
      }
      Claim late = claim("job");
      assertThrows(
          LockUnavailableException.class,
          () -> impatient.tryAcquire(late, Deadline.in(Backends.TIME, Duration.ofMillis(1_500))));
      Future<Attempt> waiting = threads.submit(() -> backend.tryAcquire(claim("job"), soon()));
      connection.rollback();
      Attempt attempt = waiting.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      if (impatient.release(late, soon())) { // a busy server ended its statement too late
        assertInstanceOf(Attempt.Busy.class, attempt);
      } else {
        Claim holder = assertInstanceOf(Attempt.Granted.class, attempt).grant().claim();
        assertTrue(backend.inspect("job", soon()).remaining().orElseThrow().toMinutes() >= 3);
        assertTrue(backend.release(holder, soon()));
      }
    }
  }

  @Test
  void aLockedRowDoesNotBlockTheRenewalOfOthers() throws Exception {
    assumeTrue(database() == JdbcDatabase.POSTGRESQL, "only PostgreSQL does that");
    List<Grant> grants = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      grants.add(take(backend, claim("job/" + i)));
    }
    assertTrue(backend.release(grants.get(3).claim(), soon()));
    try (Connection connection = source().getConnection()) {
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        assertEquals(1, statement.executeUpdate("DELETE FROM " + table + " WHERE name = 'job/1'"));
      }
      List<Renewal> outcomes =
          backend.renewAll(grants, Deadline.in(Backends.TIME, Duration.ofSeconds(2)));
      for (int i : new int[] {0, 2, 4}) {
        assertInstanceOf(Renewal.Confirmed.class, outcomes.get(i), "grant " + i);
      }
      assertInstanceOf(Renewal.Failed.class, outcomes.get(1));
      connection.rollback();
    }
    assertInstanceOf(Renewal.Confirmed.class, backend.renewAll(grants, soon()).get(1));
    assertInstanceOf(Renewal.Lost.class, backend.renewAll(grants, soon()).get(3));
  }

  @Test
  void clientsMayCreateTheTableAtOnce() throws Exception {
    int clients = 8;
    CyclicBarrier start = new CyclicBarrier(clients);
    JdbcSettings other = JdbcSettings.builder().table(table + "_new").build();
    List<Future<LockBackend>> openings = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      Callable<LockBackend> opening =
          () -> {
            start.await();
            return Backends.open(source(), other);
          };
      openings.add(threads.submit(opening));
    }
    try {
      long token = 0;
      for (Future<LockBackend> opening : openings) {
        LockBackend opened = opening.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        Claim claim = claim("job");
        long next = take(opened, claim).token();
        assertTrue(next > token);
        token = next;
        assertTrue(opened.release(claim, soon()));
        opened.close();
      }
    } finally {
      execute("DROP TABLE IF EXISTS " + other.table());
    }
  }

  @Test
  void theTableOfAMigrationToolIsUsed() throws Exception {
    JdbcSettings other = JdbcSettings.builder().table(table + "_own").createSchema(false).build();
    LockException missing =
        assertThrows(
            LockConfigurationException.class, () -> Backends.open(source(), other).close());
    assertTrue(
        String.valueOf(missing.getMessage()).contains("JdbcLocks.schema"), missing::toString);
    for (String statement : JdbcLocks.schema(database(), other).split(";\n")) {
      execute(statement);
    }
    try (LockBackend opened = Backends.open(source(), other)) {
      take(opened, claim("job"));
    } finally {
      execute("DROP TABLE " + other.table());
    }
  }

  @Test
  void anotherTableOfTheSameNameIsRefused() throws Exception {
    String foreign = table + "_foreign";
    execute("CREATE TABLE " + foreign + " (name VARCHAR(20))");
    try {
      JdbcSettings other = JdbcSettings.builder().table(foreign).build();
      LockException refusal =
          assertThrows(
              LockConfigurationException.class, () -> Backends.open(source(), other).close());
      assertTrue(
          String.valueOf(refusal.getMessage()).contains("lacks a column"), refusal::toString);
    } finally {
      execute("DROP TABLE " + foreign);
    }
  }

  @Test
  void aTableThatDisappearsIsCreatedAgain() throws Exception {
    Claim alone = claim("job");
    Claim reader = claim("book", Share.READ);
    long token = take(backend, alone).token();
    take(backend, reader);
    execute("DROP TABLE " + table);
    assertFalse(backend.inspect("job", soon()).isHeld());
    assertTrue(backend.list("", null, 10, soon()).locks().isEmpty());
    assertFalse(backend.forceRelease("job", soon()));
    assertFalse(backend.revoke("job", soon()));
    for (Renewal renewal :
        backend.renewAll(List.of(Grant.forTtl(alone, 1), Grant.forTtl(reader, 1)), soon())) {
      assertInstanceOf(Renewal.Lost.class, renewal);
    }
    assertFalse(backend.release(alone, soon()));
    assertFalse(backend.release(reader, soon()));
    assertThrows(SQLException.class, () -> number("SELECT count(*) FROM " + table));

    int clients = 8;
    CyclicBarrier start = new CyclicBarrier(clients);
    List<Future<Attempt>> attempts = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      Claim claim = claim("job");
      attempts.add(
          threads.submit(
              () -> {
                start.await();
                return backend.tryAcquire(claim, soon());
              }));
    }
    List<Long> tokens = new ArrayList<>();
    for (Future<Attempt> attempt : attempts) {
      if (attempt.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS)
          instanceof Attempt.Granted granted) {
        tokens.add(granted.grant().token());
      }
    }
    assertEquals(1, tokens.size());
    assertTrue(tokens.get(0) > token);
    take(backend, claim("book", Share.WRITE));
  }

  @Test
  void aMissingTableIsNotCreatedAgainWithoutCreateSchema() throws Exception {
    String uri = uri() + (uri().contains("?") ? "&" : "?") + "createSchema=false&table=" + table;
    try (LockBackend opened = Backends.open(uri)) {
      execute("DROP TABLE " + table);
      LockException refusal =
          assertThrows(
              LockConfigurationException.class, () -> opened.tryAcquire(claim("job"), soon()));
      assertTrue(
          String.valueOf(refusal.getMessage()).contains("is missing; create it"),
          refusal::toString);
      assertFalse(opened.release(claim("job"), soon()));
      assertThrows(SQLException.class, () -> number("SELECT count(*) FROM " + table));
    }
  }

  @Test
  void contentOfAnotherVersionIsRefused() throws Exception {
    take(backend, claim("job", Share.READ));
    execute("UPDATE " + table + " SET kind = 'future'");
    assertRefused(
        claim("job", Share.READ), "has contents that this version of Interlock does not know");
    assertThrows(LockConfigurationException.class, () -> backend.inspect("job", soon()));
  }

  /** A free name is granted whatever kind a later version last used it as. */
  @Test
  void aFreeNameOfAnotherVersionIsGranted() throws Exception {
    take(backend, claim("job"));
    execute("UPDATE " + table + " SET kind = 'future', expires_at = 1");
    Claim claim = claim("job");
    take(backend, claim);
    assertTrue(backend.release(claim, soon()));
  }

  /** Hands out a single connection with the program's settings. */
  private static DataSource always(Connection connection) {
    ProgramSource source = () -> ProgramSource.unclosed(connection);
    return source;
  }

  @Test
  void theSettingsOfBorrowedConnectionsAreRestored() throws Exception {
    try (Connection connection = source().getConnection()) {
      connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      connection.setAutoCommit(false);
      connection.setReadOnly(true);
      boolean readOnly = connection.isReadOnly();
      int timeout = connection.getNetworkTimeout();
      try (LockBackend opened = Backends.open(always(connection), settings)) {
        Claim claim = claim("job");
        take(opened, claim);
        // Another connection sees the row, so it is committed.
        assertTrue(backend.inspect("job", soon()).isHeld());
        assertTrue(opened.release(claim, soon()));
        Claim reader = claim("book", Share.READ);
        take(opened, reader);
        assertTrue(backend.inspect("book", soon()).isHeld());
      }
      assertFalse(connection.getAutoCommit());
      assertEquals(readOnly, connection.isReadOnly());
      assertEquals(timeout, connection.getNetworkTimeout());
      assertFalse(connection.isClosed());
    }
  }

  @Test
  void serializableTransactionsAreRepeated() throws Exception {
    ProgramSource strict =
        () -> {
          Connection connection = source().getConnection();
          connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
          return connection;
        };
    int clients = 4;
    int rounds = 3;
    List<Future<Integer>> results = new ArrayList<>();
    try (LockBackend opened = Backends.open(strict, settings)) {
      for (int i = 0; i < clients; i++) {
        results.add(
            threads.submit(
                () -> {
                  int granted = 0;
                  while (granted < rounds) {
                    Claim claim = claim("job", Share.ofSemaphore(1, 2));
                    if (opened.tryAcquire(claim, soon()) instanceof Attempt.Granted) {
                      granted++;
                      assertTrue(opened.release(claim, soon()));
                    }
                  }
                  return granted;
                }));
      }
      for (Future<Integer> result : results) {
        assertEquals(rounds, result.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS));
      }
    }
    assertNull(
        backend.inspect("job", soon()).holder().flatMap(LockState.Holder::label).orElse(null));
  }
}
