package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.contract.WireFormat;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointPolicyModel.Counts;
import agent.contract.endpoint.EndpointPolicyModel.ProxyStatistics;
import agent.contract.endpoint.EndpointPolicyModel.Statistics;
import agent.endpoint.request.AddressingRequest;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.request.EndpointRequest.RequestedPort;
import agent.endpoint.state.ControllerStatus;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointLabels;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointNetworking;
import agent.endpoint.state.EndpointPolicyStatus;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.policy.resolve.DirectionSummary;
import agent.policy.rule.DerivedRule;
import agent.policy.spec.NamedPort;
import agent.server.view.ProxyView.EndpointTraffic;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** Every field of an endpoint and of a request for one, each with a value of its own. */
class EndpointFormTest {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();
  private static final Instant NOON = Instant.parse("2026-11-20T12:00:00.120Z");
  private static final Instant LATER = Instant.parse("2026-11-20T13:00:00Z");

  private static final Identity IDENTITY =
      new Identity(256, LabelSet.parse("labels", List.of("k8s:app=web")));

  private static final EndpointTraffic TRAFFIC =
      new EndpointTraffic(
          8,
          List.of(
              new ProxyStatistics(
                  10_001,
                  "ingress",
                  80,
                  "http",
                  new Statistics(new Counts(1L, 2L, 3L, 4L), new Counts(5L, 6L, 7L, 8L)))));

  private static final String TRAFFIC_JSON =
      """
      {"allocated-proxy-port": 10001, "location": "ingress", "port": 80, "protocol": "http",
       "statistics": {
        "requests": {"denied": 1, "error": 2, "forwarded": 3, "received": 4},
        "responses": {"denied": 5, "error": 6, "forwarded": 7, "received": 8}}}
      """;

  private static void assertJson(String expected, Object value) {
    assertEquals(MAPPER.readTree(expected), MAPPER.readTree(MAPPER.writeValueAsString(value)));
  }

  private static DerivedRule rule(String text) {
    return new DerivedRule(text, List.of(List.of("k8s:rule=" + text)));
  }

  private static EndpointSnapshot endpoint(ControllerStatus controller) {
    final EndpointPolicyStatus realized =
        new EndpointPolicyStatus(
            256,
            3,
            9,
            new DirectionSummary(
                true,
                false,
                true,
                List.of(1),
                List.of(3),
                List.of(rule("l4-in")),
                List.of(rule("cidr-in"))),
            new DirectionSummary(
                false,
                true,
                false,
                List.of(2),
                List.of(-1),
                List.of(rule("l4-out")),
                List.of(rule("cidr-out"))));
    final EndpointPolicyStatus wanted =
        new EndpointPolicyStatus(
            257,
            4,
            10,
            DirectionSummary.NONE,
            new DirectionSummary(true, false, true, List.of(), List.of(), List.of(), List.of()));
    return new EndpointSnapshot(
        7,
        EndpointState.NOT_READY,
        new EndpointHealth(HealthLevel.FAILURE, HealthLevel.OK, HealthLevel.WARNING, true, null),
        IDENTITY,
        new EndpointLabels(
            List.of("user"), List.of("was"), List.of("derived"), List.of("off"), List.of("k8s:s")),
        Map.of("Debug", "Enabled"),
        Map.of("Debug", "Disabled"),
        DatapathConfiguration.DEFAULT,
        new ExternalIdentifiers("c1", "name", "eth0", "re", "rn", "ns", "pod", "uid", false),
        new EndpointNetworking(
            new EndpointAddressing(
                IpAddress.parse("10.1.0.7"), "u4", "p4", IpAddress.parse("fd00::7"), "u6", "p6"),
            "eth0",
            FakeEndpoints.NODE,
            MacAddress.parse("0a:00:00:00:00:08"),
            MacAddress.parse("0a:00:00:00:00:07"),
            12,
            "lxc7"),
        List.of(new NamedPort("http", 80, "TCP")),
        wanted,
        realized,
        List.of(controller),
        List.of(new LogEntry("OK", "attached", EndpointState.READY, NOON)),
        new WorkloadDescription(null, null, null, null, null),
        new EntrySource("orch"),
        "the last build failed");
  }

  private static ControllerStatus controller(Instant lastFailure, Instant lastSuccess) {
    return new ControllerStatus(
        "regenerate",
        new UUID(1, 2),
        true,
        Duration.ofMillis(1500),
        lastFailure == null ? null : Duration.ofSeconds(60),
        1,
        2,
        3,
        "no luck",
        lastFailure,
        lastSuccess);
  }

  @Test
  void shouldEncodeEveryFieldOfAnEndpoint() {
    assertJson(
        """
        {"id": 7,
         "source": "orch",
         "spec": {"label-configuration": {"user": ["user"]}, "options": {"Debug": "Enabled"}},
         "status": {
          "controllers": [{"name": "regenerate", "uuid": "00000000-0000-0001-0000-000000000002",
           "configuration": {"error-retry": true, "error-retry-base": "1.5s", "interval": "60.0s"},
           "status": {"consecutive-failure-count": 1, "failure-count": 2, "success-count": 3,
            "last-failure-msg": "no luck", "last-failure-timestamp": "2026-11-20T12:00:00.120Z",
            "last-success-timestamp": "2026-11-20T13:00:00.000Z"}}],
          "external-identifiers": {"cni-attachment-id": "c1:eth0", "container-id": "c1",
           "container-name": "name", "k8s-namespace": "ns", "k8s-pod-name": "pod",
           "pod-name": "ns/pod", "runtime-endpoint-id": "re", "runtime-network-id": "rn"},
          "health": {"bpf": "Failure", "connected": true, "overallHealth": "Warning",
           "policy": "OK"},
          "identity": {"id": 256, "labels": ["k8s:app=web"],
           "labelsSHA256": "%s"},
          "labels": {"derived": ["derived"], "disabled": ["off"], "realized": {"user": ["was"]},
           "security-relevant": ["k8s:s"]},
          "log": [{"code": "OK", "message": "attached", "state": "ready",
           "timestamp": "2026-11-20T12:00:00.120Z"}],
          "namedPorts": [{"name": "http", "port": 80, "protocol": "TCP"}],
          "networking": {
           "addressing": [{"ipv4": "10.1.0.7", "ipv4-expiration-uuid": "u4",
            "ipv4-pool-name": "p4", "ipv6": "fd00::7", "ipv6-expiration-uuid": "u6",
            "ipv6-pool-name": "p6"}],
           "container-interface-name": "eth0",
           "host-addressing": {
            "ipv4": {"address-type": "InternalIP", "alloc-range": "10.1.0.0/24", "enabled": true,
             "ip": "192.0.2.1"},
            "ipv6": {"enabled": false}},
           "host-mac": "0a:00:00:00:00:08", "interface-index": 12, "interface-name": "lxc7",
           "mac": "0a:00:00:00:00:07"},
          "policy": {"proxy-policy-revision": 8, "proxy-statistics": [%s],
           "realized": {
            "allowed-egress-any": true, "allowed-ingress-any": false,
            "denied-egress-any": false, "denied-ingress-any": true,
            "allowed-egress-identities": [2], "allowed-ingress-identities": [1],
            "denied-egress-identities": [4294967295], "denied-ingress-identities": [3],
            "build": 3, "id": 256, "policy-enabled": "ingress", "policy-revision": 9,
            "cidr-policy": {
             "egress": [{"derived-from-rules": [["k8s:rule=cidr-out"]], "rule": "cidr-out"}],
             "ingress": [{"derived-from-rules": [["k8s:rule=cidr-in"]], "rule": "cidr-in"}]},
            "l4": {
             "egress": [{"derived-from-rules": [["k8s:rule=l4-out"]], "rule": "l4-out"}],
             "ingress": [{"derived-from-rules": [["k8s:rule=l4-in"]], "rule": "l4-in"}]}},
           "spec": {
            "allowed-egress-any": false, "allowed-ingress-any": false,
            "denied-egress-any": true, "denied-ingress-any": false,
            "allowed-egress-identities": [], "allowed-ingress-identities": [],
            "denied-egress-identities": [], "denied-ingress-identities": [],
            "build": 4, "id": 257, "policy-enabled": "egress", "policy-revision": 10,
            "cidr-policy": {"egress": [], "ingress": []}, "l4": {"egress": [], "ingress": []}}},
          "realized": {"label-configuration": {"user": ["was"]}, "options": {"Debug": "Disabled"}},
          "state": "not-ready"}}
        """
            .formatted(IDENTITY.labelsSha256(), TRAFFIC_JSON),
        EndpointEncoder.endpoint(endpoint(controller(NOON, LATER)), TRAFFIC));
  }

  @Test
  void shouldLeaveOutWhatAControllerHasNotDone() {
    assertJson(
        """
        {"name": "regenerate", "uuid": "00000000-0000-0001-0000-000000000002",
         "configuration": {"error-retry": true, "error-retry-base": "1.5s"},
         "status": {"consecutive-failure-count": 1, "failure-count": 2, "success-count": 3,
          "last-failure-msg": "no luck"}}
        """,
        EndpointEncoder.endpoint(endpoint(controller(null, null)), TRAFFIC)
            .status()
            .controllers()
            .getFirst());
  }

  @Test
  void shouldEncodeTheViewsBelowAnEndpoint() {
    final EndpointSnapshot endpoint = endpoint(controller(null, null));
    assertJson(
        """
        {"error": "the last build failed", "immutable": {},
         "realized": {"label-configuration": {"user": ["was"]}, "options": {"Debug": "Disabled"}}}
        """,
        EndpointEncoder.configuration(endpoint));
    assertJson(
        """
        {"spec": {"user": ["user"]},
         "status": {"derived": ["derived"], "disabled": ["off"], "realized": {"user": ["was"]},
          "security-relevant": ["k8s:s"]}}
        """,
        EndpointEncoder.labels(endpoint));
  }

  @Test
  void shouldDecodeEveryFieldOfARequest() {
    final EndpointChangeRequest body =
        MAPPER.readValue(
            """
            {"addressing": {"ipv4": "a4", "ipv4-expiration-uuid": "u4", "ipv4-pool-name": "p4",
              "ipv6": "a6", "ipv6-expiration-uuid": "u6", "ipv6-pool-name": "p6"},
             "container-id": "c", "container-interface-name": "ci", "container-name": "cn",
             "datapath-configuration": {"disable-sip-verification": true, "external-ipam": false,
              "install-endpoint-route": true, "require-arp-passthrough": false,
              "require-egress-prog": true, "require-routing": false},
             "datapath-map-id": 1, "disable-legacy-identifiers": true, "host-mac": "hm", "id": 2,
             "interface-index": 3, "interface-name": "i", "k8s-namespace": "ns",
             "k8s-pod-name": "pod", "k8s-uid": "uid", "labels": ["a", "b"], "mac": "m",
             "named-ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
             "netns-cookie": "nc", "pid": 4, "policy-enabled": false, "properties": {"x": 1},
             "runtime-endpoint-id": "re", "runtime-network-id": "rn", "state": "ready",
             "sync-build-endpoint": true}
            """,
            EndpointChangeRequest.class);
    assertEquals(
        new EndpointRequest(
            "ready",
            new AddressingRequest("a4", "u4", "p4", "a6", "u6", "p6"),
            "c",
            "ci",
            "cn",
            new DatapathConfiguration(true, false, true, false, true, false),
            1,
            true,
            "re",
            "rn",
            "hm",
            "m",
            2,
            3,
            "i",
            "ns",
            "pod",
            "uid",
            List.of("a", "b"),
            "nc",
            4,
            false,
            "{\"x\":1}",
            List.of(new RequestedPort("http", 80, "TCP")),
            true),
        new EndpointDecoder().decode(body));
  }

  @Test
  void shouldDecodeNothingWhereARequestNamesNothing() {
    final EndpointRequest decoded =
        new EndpointDecoder()
            .decode(MAPPER.readValue("{\"state\": \"\"}", EndpointChangeRequest.class));
    assertEquals("", decoded.state());
    assertNull(decoded.addressing());
    assertNull(decoded.datapathConfiguration());
    assertNull(decoded.properties());
    assertNull(decoded.labels());
  }
}
