package dev.interlock.testbed.etcd;

import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.DisposableServer;
import java.io.IOException;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** One member's entry in its cluster's list of members. */
final class EtcdMembership {
  private static final Pattern MEMBER =
      Pattern.compile("\"ID\":\"(\\d+)\"[^}]*?\"peerURLs\":\\[\"([^\"]+)\"");

  private final EtcdConfig config;
  private final EtcdConfig.Member member;
  private @Nullable String previousId;

  EtcdMembership(EtcdConfig config, EtcdConfig.Member member) {
    this.config = config;
    this.member = member;
  }

  /**
   * Replaces the entry by a new one with the same address.
   *
   * @throws TestbedException if the other members do not accept it within half a minute
   */
  void renew() {
    // etcd refuses changes until its members have been connected for 5 seconds.
    Waiting.demandThat(
        DisposableServer.LIMIT,
        "the other members did not accept " + member.name() + " as a new member",
        this::isRenewed);
  }

  /**
   * Takes the next step that is missing according to the list, so a lost reply does no harm;
   * returns whether none is missing.
   */
  private boolean isRenewed() throws IOException {
    EtcdEndpoint other = servingMember();
    String listed = identity(other).orElse(null);
    if (previousId == null) {
      previousId = listed;
    }
    if (listed == null) {
      String address = "{\"peerURLs\":[\"" + member.peerUrl() + "\"]}";
      other.call("/v3/cluster/member/add", address);
      return false;
    }
    if (listed.equals(previousId)) {
      other.call("/v3/cluster/member/remove", "{\"ID\":\"" + listed + "\"}");
      return false;
    }
    return true;
  }

  private Optional<String> identity(EtcdEndpoint other) throws IOException {
    Matcher listed = MEMBER.matcher(other.call("/v3/cluster/member/list", "{}"));
    while (listed.find()) {
      if (listed.group(2).equals(member.peerUrl())) {
        return Optional.of(listed.group(1));
      }
    }
    return Optional.empty();
  }

  private EtcdEndpoint servingMember() throws IOException {
    for (EtcdConfig.Member candidate : config.members()) {
      EtcdEndpoint endpoint = config.client(candidate);
      try {
        if (!candidate.equals(member) && endpoint.healthy()) {
          return endpoint;
        }
      } catch (IOException silent) {
        // the next member may answer
      }
    }
    throw new IOException("none of the other members serves");
  }
}
