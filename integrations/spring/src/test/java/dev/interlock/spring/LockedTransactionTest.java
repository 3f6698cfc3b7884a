package dev.interlock.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spring.Locked.WhenLost;
import dev.interlock.testing.TestStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** Locks around real transactions, on H2. */
class LockedTransactionTest {

  @Configuration
  @EnableLocked
  @EnableTransactionManagement
  static class Application {
    @Bean
    TestStore store() {
      return new TestStore();
    }

    @Bean
    LockClient client(TestStore store) {
      return store.open(LockOptions.builder().ttl(Duration.ofSeconds(10)).build());
    }

    @Bean
    DriverManagerDataSource dataSource() {
      return new DriverManagerDataSource("jdbc:h2:mem:locked;DB_CLOSE_DELAY=-1", "sa", "");
    }

    @Bean
    JdbcTransactionManager transactions(DriverManagerDataSource source) {
      return new JdbcTransactionManager(source);
    }

    @Bean
    JdbcTemplate jdbc(DriverManagerDataSource source) {
      return new JdbcTemplate(source);
    }

    @Bean
    Stock stock(JdbcTemplate jdbc, TestStore store) {
      return new Stock(jdbc, store);
    }

    @Bean
    Shop shop(Stock stock) {
      return new Shop(stock);
    }
  }

  static class Stock {
    private final JdbcTemplate jdbc;
    private final TestStore store;

    Stock(JdbcTemplate jdbc, TestStore store) {
      this.jdbc = jdbc;
      this.store = store;
    }

    @Locked("stock")
    @Transactional
    public void take() {
      jdbc.update("update stock set amount = amount - 1");
    }

    @Locked("own")
    public void takeOutside() {
      jdbc.update("update stock set amount = amount - 1");
    }

    @Locked(value = "own", insideTransaction = true)
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void takeInItsOwn() {
      jdbc.update("update stock set amount = amount - 1");
    }

    @Locked(value = "stock", whenLost = WhenLost.FINISH)
    @Transactional
    public void loseLease() {
      jdbc.update("update stock set amount = amount - 1");
      assertTrue(store.takeAway("stock"));
      LeaseLostException unused = CurrentLease.get().onLoss().join();
    }

    @Locked("stock")
    @Transactional
    public void releaseEarly() {
      jdbc.update("update stock set amount = amount - 1");
      CurrentLease.get().close();
    }
  }

  static class Shop {
    private final Stock stock;

    Shop(Stock stock) {
      this.stock = stock;
    }

    @Transactional
    public void takeInsideTransaction() {
      stock.takeOutside();
    }

    @Transactional
    public void takeInAnotherTransaction() {
      stock.takeInItsOwn();
    }

    @Locked("stock")
    @Transactional
    public void takeTwice() {
      stock.take();
      stock.take();
    }
  }

  private AnnotationConfigApplicationContext context;
  private JdbcTemplate jdbc;
  private Stock stock;

  @BeforeEach
  void start() {
    context = new AnnotationConfigApplicationContext(Application.class);
    jdbc = context.getBean(JdbcTemplate.class);
    jdbc.execute("create table stock (amount int)");
    jdbc.execute("insert into stock values (10)");
    stock = context.getBean(Stock.class);
  }

  @AfterEach
  void stop() {
    jdbc.execute("shutdown");
    context.close();
  }

  private int amount() {
    return jdbc.queryForObject("select amount from stock", Integer.class);
  }

  @Test
  void theLockIsAcquiredBeforeTheTransactionBeginsAndReleasedAfterItsEnd() {
    TestStore store = context.getBean(TestStore.class);
    List<String> seen = new ArrayList<>();
    context
        .getBean(JdbcTransactionManager.class)
        .addListener(
            new TransactionExecutionListener() {
              @Override
              public void beforeBegin(TransactionExecution transaction) {
                seen.add("begin " + store.inspect("stock").isHeld());
              }

              @Override
              public void afterCommit(TransactionExecution transaction, Throwable failure) {
                seen.add("commit " + store.inspect("stock").isHeld());
              }
            });
    stock.take();
    assertEquals(List.of("begin true", "commit true"), seen);
    assertFalse(store.inspect("stock").isHeld());
    assertEquals(9, amount());
  }

  @Test
  void aCallInsideATransactionIsRefusedUnlessAllowed() {
    Shop shop = context.getBean(Shop.class);
    IllegalStateException refused =
        assertThrows(IllegalStateException.class, shop::takeInsideTransaction);
    assertTrue(refused.getMessage().contains("insideTransaction = true"), refused.getMessage());
    assertEquals(10, amount());

    shop.takeInAnotherTransaction();
    assertEquals(9, amount());
  }

  @Test
  void aCallThatJoinsTheLockMayJoinItsTransaction() {
    context.getBean(Shop.class).takeTwice();
    assertEquals(8, amount());
  }

  @Test
  void aTransactionWhoseLeaseIsLostIsRolledBack() {
    assertThrows(LeaseLostException.class, stock::loseLease);
    assertEquals(10, amount());
  }

  @Test
  void aTransactionWhoseLeaseIsReleasedBeforeItsEndIsRolledBack() {
    assertThrows(IllegalStateException.class, stock::releaseEarly);
    assertEquals(10, amount());
  }
}
