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
 * <p>With {@link #restartEmpty()} the server of a single-member cluster starts without data. A
 * member of a larger cluster may not return under its old identity without its data, since etcd
 * relies on its earlier votes. The other members, which need a quorum, remove it, and add it as a
 * new member with the same name and addresses.
 */
public final class EtcdServer extends DisposableServer {
  /**
   * The header with which the sender names its address, that of its gate; see setPeerURLsHeader in
   * etcdserver/api/rafthttp/util.go.
   */
  private static final Pattern SENDER =
      Pattern.compile("X-Peerurls: http://127\\.0\\.0\\.1:(\\d+)\r\n");

  // A key in the gateway's answer, which leaves out zero values, such as no lease.
  private static final Pattern KEY =
      Pattern.compile(
          "\\{\"key\":\"([^\"]+)\"(?:(?!\"lease\")[^{}])*(\"lease\":\"\\d+\")?[^{}]*\\}");

  private final EtcdEndpoint endpoint;
  private final EtcdEndpoint peer;

  private EtcdServer(
      EtcdConfig.Member member,
      String source,
      EtcdEndpoint client,
      EtcdEndpoint peer,
      Parts parts) {
    super(member.name(), "127.0.0.1", member.client(), source, peer::ready, parts);
    this.endpoint = client;
    this.peer = peer;
  }

  /**
   * Starts a server, and waits until its process answers on the port for peers. Without a quorum
   * etcd does not answer clients.
   */
  static EtcdServer launch(
      Installation installation, EtcdConfig config, EtcdConfig.Member member, PeerGates gates) {
    return Place.launch(
        member.name(),
        place -> {
          if (member.isGated()) {
            place.closeOnRelease(
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
              new EtcdServer(member, installation.source(), config.client(member), peer, parts);
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
   * Calls the JSON gateway to the server's API, without a driver.
   *
   * @param path the path, for example {@code /v3/kv/range}; keys and values are Base64
   * @param json the request
   * @return the answer
   * @throws IOException if the server answers with an error, or does not answer within 5 seconds
   */
  public String call(String path, String json) throws IOException {
    return endpoint.call(path, json);
  }

  /**
   * Returns all keys, each with whether it is bound to a lease.
   *
   * @throws IOException if the server answers with an error, or does not answer within 5 seconds
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

  /** Enables authentication; to be called once, when the cluster serves. */
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
