package dev.interlock.testbed.etcd;

import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.PeerGates;
import dev.interlock.testbed.server.Place;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One etcd server, alone or as a member of a cluster.
 *
 * <p>The server of a single-member cluster just starts with nothing on {@link #restartEmpty()}. A
 * member of a larger one may not come back under its old identity without its data (etcd relies on
 * what it has voted for): it is removed through the others and joins as a new member under its name
 * and addresses, for which they must have a quorum.
 */
public final class EtcdServer extends DisposableServer {
  /**
   * In every request that matters the sender names its own address, which is its gate:
   * setPeerURLsHeader in etcdserver/api/rafthttp/util.go, as Go writes names of headers.
   */
  private static final Pattern SENDER =
      Pattern.compile("X-Peerurls: http://127\\.0\\.0\\.1:(\\d+)\r\n");

  // Of a key in the gateway's answer; what is zero, such as no lease, is left out.
  private static final Pattern KEY =
      Pattern.compile(
          "\\{\"key\":\"([^\"]+)\"(?:(?!\"lease\")[^{}])*(\"lease\":\"\\d+\")?[^{}]*\\}");

  private final EtcdEndpoint endpoint;
  private final EtcdEndpoint peer;

  private EtcdServer(
      EtcdConfig.Member member, String how, EtcdEndpoint client, EtcdEndpoint peer, Parts parts) {
    super(member.name(), "127.0.0.1", member.client(), how, peer::ready, parts);
    this.endpoint = client;
    this.peer = peer;
  }

  /**
   * Starts a server and waits until its process answers, with or without a quorum: until there is
   * one, etcd serves only its peers, on their port.
   */
  static EtcdServer launch(
      Installation installation, EtcdConfig config, EtcdConfig.Member member, PeerGates gates) {
    return Place.launch(
        member.name(),
        place -> {
          if (member.isGated()) {
            place.keep(
                gates.open(
                    member.gate(), member.peer(), member.client(), text -> sender(text, config)));
          }
          Path directory = place.directory();
          Path file = config.write(directory, member, EtcdConfig.Start.NEW);
          Parts parts =
              place.parts(
                  installation,
                  List.of("--config-file", file.toString()),
                  () -> config.forget(directory, member));
          EtcdEndpoint peer = new EtcdEndpoint(member.listenUrl(), null, null);
          EtcdServer server =
              new EtcdServer(member, installation.how(), config.client(member), peer, parts);
          server.start();
          return server;
        },
        member.ports());
  }

  private static int sender(String text, EtcdConfig config) {
    Matcher named = SENDER.matcher(text);
    if (named.find()) {
      int gate = Integer.parseInt(named.group(1));
      for (EtcdConfig.Member member : config.members()) {
        if (member.gate() == gate) {
          return member.client();
        }
      }
    }
    return 0;
  }

  @Override
  protected String askVersion() throws IOException {
    return peer.version();
  }

  /**
   * Calls the JSON gateway to the server's API, past every driver: how a test asks the server
   * itself.
   *
   * @param path for example {@code /v3/kv/range}; keys and values are Base64
   * @param json the request
   * @return the answer
   * @throws IOException if the server answers with an error, or not within 5 seconds
   */
  public String call(String path, String json) throws IOException {
    return endpoint.call(path, json);
  }

  /**
   * All keys, each with whether it ends with a lease.
   *
   * @throws IOException if the server answers with an error, or not within 5 seconds
   */
  public Map<String, Boolean> keys() throws IOException {
    Map<String, Boolean> keys = new LinkedHashMap<>();
    String all = "{\"key\":\"AA==\",\"range_end\":\"AA==\",\"keys_only\":true}";
    Matcher key = KEY.matcher(call("/v3/kv/range", all));
    while (key.find()) {
      String name = new String(Base64.getDecoder().decode(key.group(1)), StandardCharsets.UTF_8);
      keys.put(name, key.group(2) != null);
    }
    return keys;
  }

  /** To be called once, on a server that serves. */
  void enableAuthentication(String rootPassword) throws IOException {
    endpoint.enableAuthentication(rootPassword);
  }

  EtcdEndpoint.Status status() throws IOException {
    return endpoint.status();
  }

  boolean healthy() throws IOException {
    return endpoint.healthy();
  }
}
