package dev.interlock.redis.server;

import java.util.List;

/**
 * A script with its keys and arguments.
 *
 * @param script what to run
 * @param keys its keys
 * @param arguments its arguments
 */
public record ScriptCall(Script script, List<byte[]> keys, List<byte[]> arguments) {}
