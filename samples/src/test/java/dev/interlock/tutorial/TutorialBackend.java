package dev.interlock.tutorial;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Holds as rows that expire by the server's clock. */
final class TutorialBackend implements LockBackend {

  static final BackendInfo INFO =
      BackendInfoBuilder.of("tutorial", "a row with an expiry, and a sequence for tokens")
          .capabilities(Capability.FENCING, Capability.READ_WRITE, Capability.SEMAPHORE)
          .granularity(Duration.ofMillis(100))
          .minTtl(Duration.ofMillis(50))
          .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.CLIENT_KILLED, Fault.CLIENT_STOPPED)
          .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.CONNECTION_LOST, Fault.PARTITION)
          .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.SERVER_STOPPED, Fault.SERVER_RESTARTED)
          .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.MACHINE_SUSPENDED)
          .guarantee(Guarantee.TOKENS_ONLY, Fault.SERVER_CLOCK_STEPPED, Fault.FORCED_RELEASE)
          .guarantee(Guarantee.NOT_APPLICABLE, Fault.MINORITY_LOST, Fault.LEADER_CHANGED)
          .guarantee(Guarantee.NOT_APPLICABLE, Fault.EVICTION)
          .build();

  /** As in schema.sql: how long a turn lasts after its first grant. */
  private static final int TURN_MILLIS = 500;

  private final HikariDataSource database;
  private final String endpoint;

  TutorialBackend(HikariDataSource database, String endpoint) {
    this.database = database;
    this.endpoint = endpoint;
    try (InputStream schema = TutorialBackend.class.getResourceAsStream("schema.sql")) {
      ask(new String(schema.readAllBytes(), StandardCharsets.UTF_8), PreparedStatement::execute);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public BackendInfo info() {
    return INFO;
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) {
    Share share = claim.share();
    return ask(
        "SELECT * FROM interlock_acquire(?, ?, ?, ? * interval '1 microsecond',"
            + " ?, ?, ?, ? * interval '1 microsecond')",
        statement -> {
          ResultSet row = statement.executeQuery();
          row.next();
          String kind = row.getString("used_as");
          if (kind != null) {
            int capacity = row.getInt("used_capacity");
            throw share.disagreement(claim.name(), new Share(LockKind.valueOf(kind), 1, capacity));
          }
          long token = row.getLong("granted");
          return row.wasNull() ? busy(share) : new Attempt.Granted(claim, token);
        },
        key(claim.name()),
        claim.id(),
        claim.label(),
        claim.ttl().toNanos() / 1000,
        share.kind().name(),
        share.weight(),
        share.capacity(),
        claim.reservation().toNanos() / 1000);
  }

  /** A waiter of a weight whose turn has come must ask before that turn is over. */
  private static Attempt busy(Share share) {
    return share.isExclusive()
        ? new Attempt.Busy()
        : new Attempt.Busy(Duration.ofMillis(TURN_MILLIS - 100));
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) {
    Claim claim = grant.claim();
    int renewed =
        ask(
            "UPDATE interlock_lock SET expires = clock_timestamp() + ? * interval '1 microsecond'"
                + " WHERE name = ? AND claim = ? AND expires > clock_timestamp()",
            PreparedStatement::executeUpdate,
            claim.ttl().toNanos() / 1000,
            key(claim.name()),
            claim.id());
    return renewed == 1
        ? new Renewal.Confirmed()
        : new Renewal.Lost(LossReason.TAKEN, "its row is gone or another's");
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) {
    String release = "DELETE FROM interlock_lock WHERE name = ? AND claim = ?";
    return ask(release, PreparedStatement::executeUpdate, key(claim.name()), claim.id()) == 1;
  }

  @Override
  public LockState inspect(String name, Deadline deadline) {
    return ask(
        "SELECT holder, token, kind, weight, capacity, extract(epoch FROM expires - clock_timestamp())"
            + " FROM interlock_lock WHERE name = ? AND token IS NOT NULL"
            + " AND expires > clock_timestamp() ORDER BY token",
        statement -> {
          ResultSet row = statement.executeQuery();
          LockState state = LockStates.free(name);
          List<LockState.Holder> holders = new ArrayList<>();
          while (row.next()) {
            LockKind kind = LockKind.valueOf(row.getString(3));
            Duration rest = Duration.ofMillis((long) (row.getDouble(6) * 1000));
            holders.add(
                LockStates.holder(
                    kind, row.getInt(4), row.getString(1), row.getLong(2), rest, null));
            state = LockStates.held(name, kind, row.getInt(5), holders, List.of());
          }
          return state;
        },
        key(name));
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) {
    return ask(
        "WITH taken AS (DELETE FROM interlock_lock WHERE name = ? AND token IS NOT NULL"
            + " RETURNING expires) SELECT coalesce(bool_or(expires > clock_timestamp()), false)"
            + " FROM taken",
        statement -> {
          ResultSet row = statement.executeQuery();
          return row.next() && row.getBoolean(1);
        },
        key(name));
  }

  @Override
  public void close() {
    database.close();
  }

  private static byte[] key(String name) {
    return name.getBytes(StandardCharsets.UTF_8);
  }

  private interface Question<T> {
    T put(PreparedStatement statement) throws SQLException;
  }

  private <T> T ask(String sql, Question<T> question, Object... values) {
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      return question.put(statement);
    } catch (SQLException e) {
      throw explained(e);
    }
  }

  /** Class 28 is a wrong user or password, 3D a missing database, 42 a missing permission. */
  private LockException explained(SQLException e) {
    return String.valueOf(e.getSQLState()).matches("(28|3D|42).*")
        ? new LockConfigurationException(
            "the database at " + endpoint + " refuses: " + e.getMessage(), e)
        : new LockUnavailableException("tutorial", endpoint, "" + e.getMessage(), e);
  }
}
