package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.WireFormat;
import agent.contract.datapath.PrefilterListModel;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.policy.RuleModel;
import agent.server.BodyLimits.Unit;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;

/** So many rules, peers, CIDRs, labels and prefixes are taken from a body, and one more is not. */
class CountingParserTest {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();
  private static final BodyLimits LIMITS = new BodyLimits(3, 6, 3, 4, 3, 3);

  private static List<RuleModel> rules(InputStream body, BodyLimits limits) {
    return RequestBody.read(
        MAPPER,
        MAPPER.getTypeFactory().constructCollectionType(ArrayList.class, RuleModel.class),
        body,
        limits,
        Unit.RULES);
  }

  private static InputStream bytes(String text) {
    return new ByteArrayInputStream(text.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
  }

  private static <T> T read(Class<T> type, String body) {
    return RequestBody.read(MAPPER, MAPPER.constructType(type), bytes(body), LIMITS, Unit.ENTRIES);
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      delimiter = '|',
      textBlock =
          """
          [{},{},{}]                                                  | {} | more than 3 rules in one request (--max-policy-rules)
          [{'ingress':[{},{},{}],'egress':[{},{}]},{'egressDeny':[{}]}] | {'ingressDeny':[{}]} | more than 6 peers and ports in one request (--max-policy-peers)
          [{'ingress':[{'fromEndpoints':[{},{}],'toPorts':[{'ports':[{'port':1}]}]}]}] | {'ingress':[{'fromEntities':['a']}]} | more than 6 peers and ports in one request (--max-policy-peers)
          [{'ingress':[{'fromCIDR':['a'],'fromCIDRSet':[{'cidr':'b','except':['c']}]}]}] | {'egress':[{'toCIDR':['d']}]} | more than 3 CIDRs in one request (--max-policy-cidrs)
          [{'endpointSelector':{'matchLabels':{'a':'','b':'c'}},'labels':[{'key':'a'}]}] | {'endpointSelector':{'matchExpressions':[{'key':'x','operator':'In','values':['y']}]}} | more than 4 labels in one request (--max-policy-labels)
          """)
  void shouldRefuseTheFirstAboveALimit(String fits, String oneMore, String message) {
    rules(bytes(fits), LIMITS);
    final String body = fits.substring(0, fits.length() - 1) + "," + oneMore + "]";
    final HttpRefusal refusal =
        assertThrows(HttpRefusal.class, () -> rules(bytes(body), LIMITS), body);
    assertEquals(413, refusal.status());
    assertTrue(refusal.getMessage().endsWith(": " + message), refusal.getMessage());
  }

  @Test
  void shouldCountWhatHasNoFormOfItsOwn() {
    final String within = "[{'egress':[{'toServices':[%s]}]}]";
    rules(bytes(within.formatted("{'a':[1,2]}")), LIMITS);
    for (final String more :
        List.of("{'a':[1,2,3,4,5]}", "{'a':1,'b':2,'c':3,'d':4,'e':5}", "[[1],[2],[]]")) {
      final HttpRefusal refusal =
          assertThrows(HttpRefusal.class, () -> rules(bytes(within.formatted(more)), LIMITS), more);
      assertEquals(413, refusal.status(), more);
    }
  }

  @Test
  void shouldCountOtherBodiesByTheirOwnLimits() {
    read(PrefilterListModel.class, "{'deny':['a','b','c']}");
    assertEquals(
        "deny[3]: more than 3 prefixes in one request (--max-prefixes)",
        assertThrows(
                HttpRefusal.class,
                () -> read(PrefilterListModel.class, "{'deny':['a','b','c','d']}"))
            .getMessage());
    read(EndpointConfigurationSpecModel.class, "{'options':{'a':'b','c':'d'}}");
    for (final String more :
        List.of(
            "{'options':{'a':'b','c':'d','e':'f','g':'h'}}",
            "{'label-configuration':{'user':['a','b','c','d']}}")) {
      assertTrue(
          assertThrows(
                  HttpRefusal.class, () -> read(EndpointConfigurationSpecModel.class, more), more)
              .getMessage()
              .endsWith("more than 3 labels and options in one request (--max-labels)"),
          more);
    }
  }

  /** A body is refused when the limit is reached, whatever would follow. */
  @Test
  void shouldReadNoMoreThanTheLimitNeeds() {
    final InputStream unlimited =
        new InputStream() {
          private long count;

          @Override
          public int read() {
            return "{},".charAt((int) (count++ % 3));
          }
        };
    final HttpRefusal refusal =
        assertThrows(
            HttpRefusal.class,
            () -> rules(new SequenceInputStream(bytes("["), unlimited), BodyLimits.DEFAULT));
    assertEquals(413, refusal.status());
  }
}
