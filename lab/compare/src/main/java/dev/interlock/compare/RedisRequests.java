package dev.interlock.compare;

import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Counts scripts and subscriptions by {@code INFO commandstats}. Other commands are ignored,
 * because the server also counts those that a script calls. So the count is complete for locks that
 * use only scripts and subscriptions.
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
