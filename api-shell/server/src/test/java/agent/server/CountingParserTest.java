package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
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
import java.util.Locale;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.core.io.SerializedString;
import tools.jackson.core.sym.PropertyNameMatcher;
import tools.jackson.core.sym.SimpleNameMatcher;
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
          [{'egress':[{'toServices':[{'k8sService':{'serviceName':'a','namespace':'b'}},{},{},{}]}]}] | {'egress':[{'toServices':[{}]}]} | more than 6 peers and ports in one request (--max-policy-peers)
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

  private static CountingParser parser(String body) {
    return new CountingParser(MAPPER.createParser(bytes(body)), LIMITS, Unit.ENTRIES);
  }

  /** Which calls read a body depends on the form of what it is read into. */
  @Test
  void shouldReadNamesAndValuesByEachCallOfTheParser() {
    try (CountingParser parser = parser("{'a':1,'b':2,'c':3,'x':4,'d':[]}")) {
      final PropertyNameMatcher names =
          SimpleNameMatcher.construct(Locale.ROOT, List.of("b", "c", "e"));
      assertEquals(JsonToken.START_OBJECT, parser.nextValue());
      assertEquals(JsonToken.VALUE_NUMBER_INT, parser.nextValue());
      assertEquals("a", parser.currentName());
      assertEquals(0, parser.nextNameMatch(names));
      assertEquals(PropertyNameMatcher.MATCH_ODD_TOKEN, parser.nextNameMatch(names), "a number");
      assertEquals(1, parser.nextNameMatch(names));
      assertNull(parser.nextName(), "a number");
      assertEquals(PropertyNameMatcher.MATCH_UNKNOWN_NAME, parser.nextNameMatch(names));
      assertFalse(parser.nextName(new SerializedString("x")), "a number");
      assertTrue(parser.nextName(new SerializedString("d")));
      assertEquals(JsonToken.START_ARRAY, parser.nextValue());
      assertEquals(JsonToken.END_ARRAY, parser.nextValue());
      assertEquals(PropertyNameMatcher.MATCH_END_OBJECT, parser.nextNameMatch(names));
    }
    try (CountingParser parser = parser("{'a':1}")) {
      parser.nextToken();
      assertFalse(parser.nextName(new SerializedString("b")), "another name");
    }
  }

  @Test
  void shouldCountByEachCallOfTheParser() {
    final PropertyNameMatcher none = SimpleNameMatcher.construct(Locale.ROOT, List.of("x"));
    final List<Consumer<CountingParser>> calls =
        List.of(
            JsonParser::nextValue,
            JsonParser::nextName,
            parser -> parser.nextName(new SerializedString("x")),
            parser -> parser.nextNameMatch(none));
    for (final Consumer<CountingParser> call : calls) {
      try (CountingParser parser = parser("[1,2,3,4]")) {
        for (int i = 0; i < 4; i++) { // the begin of the array, and as many as the limit allows
          call.accept(parser);
        }
        assertThrows(CountingParser.OverLimitException.class, () -> call.accept(parser));
      }
    }
  }

  /** The fields of a record are few; what a client names itself is counted, at any depth. */
  @Test
  void shouldCountTheMembersOfMapsAndOfAllThatIsInThem() {
    readAll("{'a':1,'b':2,'c':3,'d':{'e':1,'f':2,'g':3,'h':4}}");
    readAll("{'options':{'a':1},'b':[{'c':1,'d':2,'e':3}]}");
    final List<String> threeAndFour =
        List.of(
            "{'a':1,'b':2,'c':3}", "{'a':1,'b':2,'c':3,'d':4}",
            "{'a':{'b':{'c':1}}}", "{'a':{'b':{'c':1,'d':2}}}",
            "{'a':{'b':[1]}}", "{'a':{'b':[1,2]}}",
            "{'a':[{'b':1}]}", "{'a':[{'b':1,'c':2}]}");
    for (final String map : List.of("options", "matchLabels")) {
      for (int i = 0; i < threeAndFour.size(); i += 2) {
        readAll("{'" + map + "':" + threeAndFour.get(i) + "}");
        final String oneMore = "{'" + map + "':" + threeAndFour.get(i + 1) + "}";
        assertThrows(CountingParser.OverLimitException.class, () -> readAll(oneMore), oneMore);
      }
    }
  }

  private static void readAll(String body) {
    try (CountingParser parser = parser(body)) {
      while (parser.nextToken() != null) {
        // it counts
      }
    }
  }

  @Test
  void shouldPassOverOneValueAndCountIt() {
    try (CountingParser parser = parser("[[{'a':1}],{'b':{}},4]")) {
      assertSame(parser, parser.skipChildren(), "before the first");
      assertNull(parser.currentToken());
      parser.nextToken();
      parser.nextToken();
      assertSame(parser, parser.skipChildren());
      assertEquals(JsonToken.END_ARRAY, parser.currentToken());
      assertEquals(JsonToken.START_OBJECT, parser.nextToken());
      assertSame(parser, parser.skipChildren());
      assertEquals(JsonToken.END_OBJECT, parser.currentToken());
      assertThrows(CountingParser.OverLimitException.class, parser::nextToken);
      parser.skipChildren();
      assertEquals(4, parser.getIntValue(), "it has no children");
    }
    try (CountingParser parser = parser("[[1,2,3,4]]")) {
      parser.nextToken();
      assertThrows(CountingParser.OverLimitException.class, parser::skipChildren);
    }
    try (CountingParser parser = parser("[{'a':")) {
      parser.nextToken();
      assertThrows(StreamReadException.class, parser::skipChildren, "the body ends");
    }
  }
}
