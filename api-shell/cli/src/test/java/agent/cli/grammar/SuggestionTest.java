package agent.cli.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SuggestionTest {
  private static final List<String> KNOWN =
      List.of("endpointSelector", "ingress", "egress", "toPorts", "TCP", "UDP", "orch-apiserver");

  @ParameterizedTest
  @CsvSource({
    "ingres,ingress",
    "igress,ingress",
    "ingerss,ingress",
    "toPort,toPorts",
    "toports,toPorts",
    "TPC,TCP",
    "tcp,TCP",
    "kube-apiserver,orch-apiserver",
    "endpointselektor,endpointSelector",
    "endpoint,endpointSelector"
  })
  void shouldFindTheNearestWord(String word, String meant) {
    assertEquals(meant, Suggestion.nearest(word, KNOWN));
    assertEquals(": did you mean '" + meant + "'?", Suggestion.of(word, KNOWN));
  }

  @ParameterizedTest
  @CsvSource({"podSelector", "x", "ICMP", "CTPP", "something"})
  void shouldSuggestNothingWhereNoWordIsNear(String word) {
    assertEquals("", Suggestion.nearest(word, List.of("ingress", "TCP", "toPorts")));
    assertEquals("", Suggestion.of(word, List.of("ingress", "TCP", "toPorts")));
  }
}
