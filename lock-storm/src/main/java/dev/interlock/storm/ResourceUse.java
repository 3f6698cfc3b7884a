package dev.interlock.storm;

/**
 * Threads and connections of one client, after the first calm moment and after the last.
 *
 * @param client which
 * @param threadsBefore threads at the start
 * @param threadsAfter threads in the end
 * @param connectionsBefore sockets at the start
 * @param connectionsAfter sockets in the end
 */
public record ResourceUse(
    String client,
    int threadsBefore,
    int threadsAfter,
    int connectionsBefore,
    int connectionsAfter) {}
