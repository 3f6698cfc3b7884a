package dev.interlock.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.jdbc.JdbcDatabase;
import dev.interlock.jdbc.JdbcLocks;
import dev.interlock.jdbc.JdbcSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.flyway.autoconfigure.FlywayMigrationStrategy;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application on an empty database, whose migrations are Flyway's. */
class LockTableMigrationTest {

  @Configuration
  @EnableAutoConfiguration
  static class Application {}

  @TempDir Path migrations;
  private final String database = "h2:mem:" + UUID.randomUUID();

  @BeforeEach
  void writeMigration() throws Exception {
    Files.writeString(
        migrations.resolve("V1__locks.sql"),
        JdbcLocks.schema(JdbcDatabase.H2, JdbcSettings.defaults()));
  }

  private ConfigurableApplicationContext start(Class<?> beans, String lockUri) {
    return new SpringApplicationBuilder(beans)
        .web(WebApplicationType.NONE)
        .properties(
            Map.of(
                "spring.datasource.url",
                "jdbc:" + database + ";DB_CLOSE_DELAY=-1",
                "spring.flyway.locations",
                "filesystem:" + migrations,
                "interlock.uri",
                lockUri))
        .run();
  }

  @Test
  void aMigrationMayCreateTheTable() throws Exception {
    try (ConfigurableApplicationContext context =
            start(Application.class, database + "?createSchema=false");
        Lease lease = context.getBean(LockClient.class).lock("job").acquire()) {
      assertTrue(lease.isHeld());
    }
  }

  @Configuration
  @EnableAutoConfiguration
  static class MigratesUnderALock {
    @Bean
    FlywayMigrationStrategy strategy(LockClient client) {
      return flyway -> {
        try (Lease lease = client.lock("migration").acquire()) {
          assertTrue(lease.isHeld());
          assertFalse(flyway.migrate().migrations.isEmpty());
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      };
    }
  }

  @Test
  void aMigrationMayRunUnderALockOfAnotherStore() {
    try (ConfigurableApplicationContext context =
        start(MigratesUnderALock.class, "memory:migration")) {
      assertEquals("memory", context.getBean(LockClient.class).backend().name());
    }
  }
}
