package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class OptionTableTest {
  /**
   * The names, types and defaults of agent-api.md and decisions.md, one a line. Without a default
   * the option is off, empty, or has no value.
   */
  private static final String CONTRACT =
      """
      access-log string
      agent-labels strings
      allow-localhost string auto
      auto-direct-node-routes bool
      bpf-compile-debug bool
      bpf-root string /sys/fs/bpf
      cgroup-root string
      cluster-id int 0
      cluster-name string default
      cluster-mesh-config string
      config string $HOME/agent.yaml
      container-runtime strings auto
      container-runtime-endpoint map
      datapath-mode string veth
      debug bool
      debug-verbose strings
      device string undefined
      disable-conntrack bool
      disable-endpoint-crd bool
      disable-orch-services bool
      runtime-socket string /var/run/runtime.sock
      enable-ipsec bool
      enable-ipv4 bool true
      enable-ipv6 bool true
      enable-policy string default
      enable-tracing bool
      proxy-engine-log string
      fixed-identity-mapping map
      chained-manage-existing-containers bool
      chained-master-device string
      chained-uninstall-on-exit bool
      help bool
      install-iptables-rules bool true
      ipsec-key-file string
      ipv4-node string auto
      ipv4-range string auto
      ipv4-service-range string auto
      ipv6-cluster-alloc-cidr string f00d::/64
      ipv6-node string auto
      ipv6-range string auto
      ipv6-service-range string auto
      ipvlan-master-device string undefined
      orch-api-server string
      orch-kubeconfig-path string
      orch-require-ipv4-pod-cidr bool
      orch-require-ipv6-pod-cidr bool
      keep-bpf-templates bool
      keep-config bool
      kvstore string
      kvstore-opt map
      label-prefix-file string
      labels strings
      lb string
      lib-dir string /var/lib/agent
      log-driver strings
      log-opt map
      log-system-load bool
      masquerade bool true
      monitor-aggregation string None
      mtu int 0
      nat46-range string 0:0:0:0:0:FFFF::/96
      pprof bool
      preallocate-bpf-maps bool true
      prefilter-device string undefined
      prefilter-mode string native
      prepend-iptables-chains bool true
      prometheus-serve-addr string
      restore bool true
      sidecar-mesh-proxy-image string ^(.*/)?mesh-proxy(:.*)?$
      single-cluster-route bool
      socket-path string <state-dir>/agent.sock
      sockops-enable bool
      state-dir string /var/run/agent
      tofqdns-dns-reject-response-code string refused
      tofqdns-enable-poller bool
      tofqdns-enable-poller-events bool true
      tofqdns-pre-cache string
      tunnel string vxlan
      version bool
      bpf-ct-global-any-max int 262144
      bpf-ct-global-tcp-max int 1000000
      conntrack-garbage-collector-interval duration 60
      http-idle-timeout duration 0
      http-max-grpc-timeout duration 0
      http-request-timeout duration 3600
      http-retry-count int 3
      http-retry-timeout duration 0
      ipv4-cluster-cidr-mask-size int 8
      kvstore-periodic-sync duration 5m0s
      monitor-queue-size int 32768
      proxy-connect-timeout duration 1
      tofqdns-endpoint-max-ip-per-hostname int 50
      tofqdns-min-ttl duration 604800
      tofqdns-proxy-port int 0
      trace-payloadlen int 128
      api-max-body int 16777216
      api-rate-limit map
      socket-group string agent
      """;

  /** Options of this agent beside those of the contract and the decisions. */
  private static final String OWN =
      """
      bpf-policy-map-max int 16384
      conntrack-endpoint-share int 100
      endpoint-event-rate int 10000
      masquerade-endpoint-share int 25
      service-algorithm string maglev
      service-table-size int 16381
      flowobs-event-buffer-capacity int 4096
      flowobs-monitor-events strings
      http-escaped-slashes string reject
      host-routing string auto
      ipv4-native-routing-cidr string auto
      ipv6-native-routing-cidr string auto
      max-labels int 1000
      max-policy-cidrs int 50000
      max-policy-labels int 100000
      max-policy-peers int 100000
      max-policy-rules int 20000
      max-policy-text int 50331648
      max-prefixes int 1000000
      max-service-backends int 250000
      """;

  @Test
  void shouldHoldEveryOptionOfTheContractWithItsTypeAndDefault() {
    final Set<String> names = new HashSet<>();
    (CONTRACT + OWN)
        .lines()
        .forEach(
            line -> {
              final String[] words = line.split(" ");
              final AgentOption option = OptionTable.byName(words[0]);
              assertNotNull(option, words[0]);
              assertEquals(words[1], option.type().label(), words[0]);
              final String off = option.type() == OptionType.BOOL ? "false" : "";
              assertEquals(words.length == 3 ? words[2] : off, option.defaultText(), words[0]);
              names.add(words[0]);
            });
    assertEquals(names, Set.copyOf(OptionTable.all().stream().map(AgentOption::name).toList()));
  }

  @Test
  void shouldHoldTheShortFormsOfTheContract() {
    assertEquals("debug", OptionTable.byShortName('D').name());
    assertEquals("device", OptionTable.byShortName('d').name());
    assertEquals("runtime-socket", OptionTable.byShortName('e').name());
    assertEquals("help", OptionTable.byShortName('h').name());
    assertEquals("tunnel", OptionTable.byShortName('t').name());
    assertEquals(5, OptionTable.all().stream().filter(o -> o.shortName() != 0).count());
  }

  @Test
  void shouldHaveDefaultsThatItsOwnParserTakes() {
    OptionTable.all()
        .forEach(
            option -> assertNotNull(OptionParser.parse(option, List.of(option.defaultText()))));
  }

  @Test
  void shouldListEveryOptionInTheHelpTextUnderItsGroup() {
    final String help = HelpText.text();
    OptionTable.all()
        .forEach(option -> assertTrue(help.contains("--" + option.name()), option.name()));
    Stream.of(OptionGroup.values())
        .forEach(group -> assertTrue(help.contains("\n" + group.title() + ":\n"), group.title()));
    help.lines().forEach(line -> assertTrue(line.length() <= 128, line));
  }
}
