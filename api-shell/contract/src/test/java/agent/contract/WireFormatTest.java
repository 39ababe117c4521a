package agent.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.contract.datapath.PrefilterListModel;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointModel;
import agent.contract.policy.IcmpModel;
import agent.contract.policy.RuleModel;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

class WireFormatTest {
  private final JsonMapper strict = WireFormat.strictMapper();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"state\":\"ready\",\"unknown\":1}",
        "{\"state\":\"ready\",\"addressing\":{\"ipv5\":\"\"}}",
        "{\"state\":\"ready\",\"state\":\"ready\"}",
        "{\"state\":7}",
        "{\"state\":true}",
        "{\"state\":[\"ready\"]}",
        "{\"state\":{}}",
        "{}",
        "{\"state\":\"ready\",\"id\":\"7\"}",
        "{\"state\":\"ready\",\"id\":7.0}",
        "{\"state\":\"ready\",\"id\":7.5}",
        "{\"state\":\"ready\",\"id\":true}",
        "{\"state\":\"ready\",\"id\":\"\"}",
        "{\"state\":\"ready\",\"id\":99999999999}",
        "{\"state\":\"ready\",\"sync-build-endpoint\":\"true\"}",
        "{\"state\":\"ready\",\"sync-build-endpoint\":1}",
        "{\"state\":\"ready\",\"sync-build-endpoint\":\"\"}",
        "{\"state\":\"ready\",\"labels\":\"a\"}",
        "{\"state\":\"ready\",\"labels\":[1]}",
        "{\"state\":\"ready\",\"labels\":[null]}",
        "{\"state\":\"ready\",\"labels\":{}}",
        "{\"state\":\"ready\",\"addressing\":\"\"}",
        "{\"state\":\"ready\",\"addressing\":[]}",
        "{\"state\":\"ready\"} x",
        "{\"state\":\"ready\"}{}",
        "{\"state\":\"ready\",}",
        "{'state':'ready'}",
        "{\"state\":NaN}",
        "// x\n{\"state\":\"ready\"}",
        "[]",
        "\"ready\"",
        "",
      })
  void shouldRefuseWhatTheContractDoesNotShow(String json) {
    assertThrows(
        JacksonException.class, () -> strict.readValue(json, EndpointChangeRequest.class), json);
  }

  @Test
  void shouldRefuseDeepNesting() {
    final String deep = "[".repeat(100) + "]".repeat(100);
    assertThrows(
        JacksonException.class,
        () ->
            strict.readValue(
                "{\"state\":\"ready\",\"properties\":" + deep + "}", EndpointChangeRequest.class));
  }

  @Test
  void shouldReadAbsentValuesAsAbsent() {
    final EndpointChangeRequest request =
        strict.readValue("{\"state\":\"ready\",\"labels\":null}", EndpointChangeRequest.class);
    assertNull(request.id());
    assertNull(request.syncBuildEndpoint());
    assertNull(request.labels());
  }

  @Test
  void shouldTellAnEmptyListFromAnAbsentOne() {
    final RuleModel rule =
        strict.readValue(
            "{\"endpointSelector\":{},\"ingress\":[{\"fromEndpoints\":[]},{}]}", RuleModel.class);
    assertEquals(List.of(), rule.ingress().get(0).fromEndpoints());
    assertNull(rule.ingress().get(1).fromEndpoints());
    assertNull(rule.egress());
  }

  @Test
  void shouldReadPortsAsTextOrNumber() {
    final RuleModel rule =
        strict.readValue(
            "{\"ingress\":[{\"toPorts\":[{\"ports\":"
                + "[{\"port\":80},{\"port\":\"80\"},{\"port\":\"http\"}]}]}]}",
            RuleModel.class);
    final var ports = rule.ingress().getFirst().toPorts().getFirst().ports();
    assertEquals(List.of("80", "80", "http"), ports.stream().map(port -> port.port()).toList());
    for (final String wrong : List.of("8.5", "true", "[80]", "{}")) {
      assertThrows(
          JacksonException.class,
          () ->
              strict.readValue(
                  "{\"ingress\":[{\"toPorts\":[{\"ports\":[{\"port\":" + wrong + "}]}]}]}",
                  RuleModel.class),
          wrong);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "8, 8",
    "0, 0",
    "999999999, 999999999",
    "EchoRequest, '\"EchoRequest\"'",
    "08, '\"08\"'",
    "1000000000, '\"1000000000\"'",
    "-1, '\"-1\"'",
    "8x, '\"8x\"'",
  })
  void shouldWriteTheDigitsOfATypeAsANumberAndAllElseAsText(String type, String json) {
    assertEquals(
        "{\"family\":\"IPv4\",\"type\":" + json + "}",
        strict.writeValueAsString(new IcmpModel.Field("IPv4", type)));
  }

  @Test
  void shouldOmitAbsentValuesAndKeepEmptyLists() {
    assertEquals(
        "{\"deny\":[],\"revision\":1}",
        strict.writeValueAsString(new PrefilterListModel(List.of(), 1L)));
    assertEquals("{}", strict.writeValueAsString(new PrefilterListModel(null, null)));
  }

  @Test
  void shouldPassOverUnknownFieldsInAnswers() {
    assertEquals(
        7,
        WireFormat.lenientMapper()
            .readValue("{\"id\":7,\"later\":{\"x\":[1]}}", EndpointModel.class)
            .id());
  }

  @Test
  void shouldWriteTimestampsInUtcWithMilliseconds() {
    assertEquals(
        "2026-11-20T06:07:08.090Z",
        WireFormat.timestamp(Instant.parse("2026-11-20T06:07:08.0901Z")));
    assertEquals("1970-01-01T00:00:00.000Z", WireFormat.timestamp(Instant.EPOCH));
  }
}
