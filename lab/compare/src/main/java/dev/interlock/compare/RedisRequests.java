package dev.interlock.compare;

import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Scripts and subscriptions, by {@code INFO commandstats}. The server also counts the commands that
 * a script calls, but these are no requests; for locks that use only scripts all requests are
 * counted.
 */
record RedisRequests(RedisServer server) implements RequestCounter {
  private static final Pattern COMMAND = Pattern.compile("cmdstat_(\\w+):calls=(\\d+)");
  private static final Set<String> REQUESTS =
      Set.of("eval", "evalsha", "fcall", "subscribe", "unsubscribe", "psubscribe", "punsubscribe");

  @Override
  public long requests() throws IOException {
    Matcher command = COMMAND.matcher(String.valueOf(server.call("INFO", "commandstats")));
    long sum = 0;
    while (command.find()) {
      if (REQUESTS.contains(command.group(1))) {
        sum += Long.parseLong(command.group(2));
      }
    }
    return sum;
  }
}
