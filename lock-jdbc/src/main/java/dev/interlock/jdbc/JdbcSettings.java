package dev.interlock.jdbc;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockConfigurationException;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Settings for the storage of locks in a database. Immutable. Clients that share locks must use the
 * same table.
 *
 * <p>By default the table is {@code interlock_lock}, is created if it is missing, and remembers the
 * last fencing token of a name for at least an hour after its last lease.
 */
public final class JdbcSettings {

  private static final JdbcSettings DEFAULTS = builder().build();

  private final String table;
  private final boolean createSchema;
  private final Duration fenceRetention;

  private JdbcSettings(Builder builder) {
    this.table = builder.table;
    this.createSchema = builder.createSchema;
    this.fenceRetention = builder.fenceRetention;
  }

  /** {@return the defaults} */
  public static JdbcSettings defaults() {
    return DEFAULTS;
  }

  /**
   * Starts from the defaults.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The table that holds the locks, with the schema before a dot if it is not the connection's own.
   * Default {@code interlock_lock}. Locks in different tables are independent.
   *
   * @return the table
   */
  public String table() {
    return table;
  }

  /**
   * Whether a client creates the table if it is missing. Default true. If it exists, nothing is
   * created, and no right to create is needed.
   *
   * @return whether to create it
   */
  public boolean createSchema() {
    return createSchema;
  }

  /**
   * The minimum time for which the last fencing token of a name is remembered after the end of its
   * last lease, by the server's clock. Default 1 hour. During that time, and while the lock is
   * held, tokens rise however the clock is set. Later they rise because they are no lower than the
   * clock. So a forgotten token is never repeated unless the clock is set back by more than this
   * time.
   *
   * @return the retention
   */
  public Duration fenceRetention() {
    return fenceRetention;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof JdbcSettings that
        && table.equals(that.table)
        && createSchema == that.createSchema
        && fenceRetention.equals(that.fenceRetention);
  }

  @Override
  public int hashCode() {
    return Objects.hash(table, createSchema, fenceRetention);
  }

  @Override
  public String toString() {
    return "JdbcSettings[table=%s, createSchema=%s, fenceRetention=%s]"
        .formatted(table, createSchema, fenceRetention);
  }

  /** Builds {@link JdbcSettings}. */
  public static final class Builder {

    // MariaDB's names have 64 characters at most, PostgreSQL's 63; the index needs six.
    private static final Pattern TABLE =
        Pattern.compile("(?:[A-Za-z_][A-Za-z0-9_]{0,62}\\.)?[A-Za-z_][A-Za-z0-9_]{0,49}");

    private static final Duration MIN_FENCE_RETENTION = Duration.ofSeconds(1);
    private static final Duration MAX_FENCE_RETENTION = Duration.ofDays(3650);

    private String table = "interlock_lock";
    private boolean createSchema = true;
    private Duration fenceRetention = Duration.ofHours(1);

    private Builder() {}

    /**
     * Sets {@link JdbcSettings#table()}.
     *
     * @param table 1 to 50 ASCII letters, digits and underscores that do not begin with a digit;
     *     the same for a schema and a dot before it
     * @return this builder
     * @throws LockConfigurationException if it is anything else
     */
    @CanIgnoreReturnValue
    public Builder table(String table) {
      if (!TABLE.matcher(table).matches()) {
        throw new LockConfigurationException(
            "table must be a name such as interlock_lock or schema.interlock_lock, of ASCII"
                + " letters, digits and underscores, with at most 50 characters, not \""
                + table
                + "\"");
      }
      this.table = table;
      return this;
    }

    /**
     * Sets {@link JdbcSettings#createSchema()}.
     *
     * @param createSchema whether to create the table if it is missing
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder createSchema(boolean createSchema) {
      this.createSchema = createSchema;
      return this;
    }

    /**
     * Sets {@link JdbcSettings#fenceRetention()}.
     *
     * @param fenceRetention 1 second to 10 years; longer than any step by which the clocks of
     *     servers, and of replicas that take over, may be set back
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder fenceRetention(Duration fenceRetention) {
      if (fenceRetention.compareTo(MIN_FENCE_RETENTION) < 0
          || fenceRetention.compareTo(MAX_FENCE_RETENTION) > 0) {
        throw new LockConfigurationException(
            "fenceRetention must be between 1 s and 3650 days, not " + fenceRetention);
      }
      this.fenceRetention = fenceRetention;
      return this;
    }

    /** {@return the settings} */
    public JdbcSettings build() {
      return new JdbcSettings(this);
    }
  }
}
