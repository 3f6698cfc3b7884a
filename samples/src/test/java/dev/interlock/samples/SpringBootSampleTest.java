package dev.interlock.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockState;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** Two instances of the sample for Spring Boot on one Redis; the last tests end them. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SpringBootSampleTest {

  private static final double HOLD_SECONDS = 0.9;

  private static RedisServer redis;
  private static ShopInstance first;
  private static ShopInstance second;

  @BeforeAll
  static void start(@TempDir Path directory) throws Exception {
    redis = Testbed.redis().forFaults().start();
    String[] properties = {
      "--shop.report-cron=* * * * * *", "--shop.report-hold=900ms", "--interlock.request-timeout=5s"
    };
    first = new ShopInstance(directory, redis.uri(), properties);
    second = new ShopInstance(directory, redis.uri(), properties);
    first.awaitStart();
    second.awaitStart();
  }

  @AfterAll
  static void stop() {
    first.close();
    second.close();
    redis.close();
  }

  private record Made(String instance, long token) {}

  private static List<Made> reports() throws Exception {
    List<Made> reports = new ArrayList<>();
    for (Object line : (List<?>) redis.call("LRANGE", "reports", "0", "-1")) {
      String[] words = line.toString().split(" ");
      reports.add(new Made(words[0], Long.parseLong(words[1])));
    }
    return reports;
  }

  @Test
  @Order(1)
  void theStockIsNotOversold() throws Exception {
    assertEquals(200, first.put("/stock/book?amount=30").statusCode());
    List<CompletableFuture<HttpResponse<String>>> buyers = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      buyers.add(first.post("/stock/book/sell"));
      buyers.add(second.post("/stock/book/sell"));
    }
    List<Integer> answers = buyers.stream().map(buyer -> buyer.join().statusCode()).toList();
    assertEquals(30, Collections.frequency(answers, 200), () -> "answers: " + answers);
    assertEquals(30, Collections.frequency(answers, 409), () -> "answers: " + answers);
    assertEquals("0", second.get("/stock/book").body());
    HttpResponse<String> metric = second.get("/actuator/metrics/interlock.hold");
    assertEquals(200, metric.statusCode(), metric.body());
  }

  @Test
  @Order(2)
  void aReportIsMadeByOneInstanceAtATime() throws Exception {
    long start = System.nanoTime();
    int before = reports().size();
    Eventually.holds("there are eight reports more", () -> reports().size() >= before + 8);
    List<Made> all = reports();
    double seconds = (System.nanoTime() - start) / 1e9;

    // Both instances try every second, so without the lock there would be two reports a second.
    // Each report keeps the others out for a while, even if processes pause. One report may have
    // begun before.
    int count = all.size() - before;
    assertTrue(
        count <= seconds / HOLD_SECONDS + 2, () -> count + " reports in " + seconds + " seconds");
    List<Long> tokens = all.stream().map(Made::token).toList();
    assertEquals(tokens.stream().sorted().distinct().toList(), tokens);
  }

  @Test
  @Order(3)
  void healthFollowsTheStore() throws Exception {
    Eventually.holds("it is up", () -> first.get("/actuator/health").statusCode() == 200);
    HttpResponse<String> up = first.get("/actuator/health");
    assertTrue(up.body().contains("\"interlock\""), up.body());
    assertTrue(up.body().contains("\"endpoint\""), up.body());

    redis.pause();
    try {
      HttpResponse<String> down = first.get("/actuator/health");
      assertEquals(503, down.statusCode(), down.body());
      assertTrue(down.body().contains("\"interlock\":{\"details\""), down.body());
      assertEquals(200, first.get("/actuator/health/liveness").statusCode());
    } finally {
      redis.resume();
    }
    Eventually.holds("the health is back", () -> first.get("/actuator/health").statusCode() == 200);
  }

  @Test
  @Order(4)
  void anotherInstanceTakesOverFromOneThatIsKilled() throws Exception {
    int before = reports().size();
    Eventually.holds("there is a new report", () -> reports().size() > before);
    List<Made> all = reports();
    ShopInstance killed =
        Stream.of(first, second)
            .filter(shop -> shop.name().equals(all.get(all.size() - 1).instance()))
            .findFirst()
            .orElseThrow();
    killed.kill();
    int since = reports().size();
    Eventually.holds("the other makes the report", () -> reports().size() > since);
    List<Made> later = reports();
    assertFalse(later.get(later.size() - 1).instance().equals(killed.name()));
  }

  @Test
  @Order(5)
  void anInstanceThatEndsInOrderReleasesItsLocks() throws Exception {
    for (ShopInstance shop : List.of(first, second)) {
      shop.terminate(); // one of them has been killed
    }
    try (LockClient client = LockClient.open(redis.uri())) {
      // The store may keep the report's lock for the rest of its minimum hold, but not for its TTL.
      LockState state = client.admin().inspect("report");
      assertTrue(
          state.holders().stream()
              .allMatch(holder -> holder.remaining().orElseThrow().toSeconds() < 1),
          state::toString);
    }
    for (ShopInstance shop : List.of(first, second)) {
      assertFalse(shop.log().contains("(CLOSED)"), shop.log());
    }
  }
}
