package shop;

import dev.interlock.spring.CurrentLease;
import dev.interlock.spring.Locked;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import redis.clients.jedis.RedisClient;

/** A job that every instance starts at the same time, and one instance does. */
@Component
class Report {

  private static final Logger log = LoggerFactory.getLogger(Report.class);

  private final RedisClient redis;
  private final String instance;

  Report(RedisClient redis, @Value("${server.port:8080}") String instance) {
    this.redis = redis;
    this.instance = instance;
  }

  @Scheduled(cron = "${shop.report-cron}")
  @Locked(value = "report", whenBusy = Locked.WhenBusy.SKIP, minHold = "${shop.report-hold}")
  void report() {
    long token = CurrentLease.get().fencingToken();
    redis.rpush("reports", instance + " " + token);
    log.info("instance {} makes the report, token {}", instance, token);
  }
}
