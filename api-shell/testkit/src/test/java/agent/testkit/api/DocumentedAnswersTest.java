package agent.testkit.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;

/** What is taken for an answer of the document, and what is not. */
class DocumentedAnswersTest {
  private static final JsonMapper JSON = new JsonMapper();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "GET|/map|200|application/json|{'maps':[]}",
        "GET|/map|200|application/json; charset=utf-8|{'maps':[{'name':'m','type':'hash'}]}",
        "GET|/map/a%20b?x=y|404|application/json|'name: there is none'",
        "GET|/endpoint/7|200|application/json|{'id':7,'status':{'state':'ready'}}",
        "GET|/identity/endpoints|200|application/json|[{'refCount':1}]",
        "GET|/identity/7|520|application/json|'no answer'",
        "DELETE|/endpoint/7|202|application/json|['not yet']",
        "POST|/ipam/10.0.0.1|200||``",
        "GET|/metrics/|200|text/plain; version=0.0.4|m 1",
        "GET|/nothing|404|application/json|'there is no such path'",
        "POST|/map|405|application/json|'only GET'",
      })
  void shouldAcceptWhatTheDocumentDescribes(
      String method, String target, int status, String contentType, String body) {
    DocumentedAnswers.check(method, target, status, contentType, body.replace('\'', '"'));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "GET|/map|200|application/json|{'maps':7}|an array is expected",
        "GET|/map|200|application/json|{'maps':[],'more':1}|a field too much",
        "GET|/map|200|application/json|{'maps':[|broken off",
        "GET|/map|200|application/json|``|empty",
        "GET|/map|200|text/plain|{'maps':[]}|another content type",
        "GET|/map|200||{'maps':[]}|no content type",
        "GET|/map|201|application/json|{'maps':[]}|a status that the operation has not",
        "GET|/map/m|200|application/json|{'pressure':'0.5'}|text for a number",
        "GET|/map/m|200|application/json|{'mirrored-at':'yesterday'}|no time stamp",
        "GET|/endpoint/7|200|application/json|{'status':{'state':'ready'}}|a required field",
        "GET|/endpoint/7|200|application/json|{'id':7,'status':{'state':'fine'}}|no such state",
        "GET|/endpoint/7|404|application/json|{'error':'gone'}|an error is a string",
        "GET|/identity/endpoints|200|application/json|{'id':7}|not the path with a parameter",
        "POST|/ipam/10.0.0.1|200|application/json|{}|no body is expected",
        "GET|/nothing|200|application/json|{}|no such path",
        "POST|/map|200|application/json|{}|no such operation",
        "GET|/endpoint/|200|application/json|{'id':7}|an empty parameter",
      })
  void shouldRefuseAnythingElse(
      String method, String target, int status, String contentType, String body, String what) {
    assertThrows(
        AssertionError.class,
        () -> DocumentedAnswers.check(method, target, status, contentType, body.replace('\'', '"')),
        what);
  }

  @Test
  @SuppressWarnings("unchecked")
  void shouldHaveExamplesThatAreValid() {
    final Map<String, Object> schemas = OpenApiDocument.shipped().schemas();
    int examples = 0;
    for (final Map.Entry<String, Object> schema : schemas.entrySet()) {
      final Map<String, Object> content = (Map<String, Object>) schema.getValue();
      for (final Object example : (List<Object>) content.getOrDefault("examples", List.of())) {
        examples++;
        assertEquals(
            List.of(),
            DocumentedAnswers.errors(
                Map.of("$ref", "#/components/schemas/" + schema.getKey()),
                JSON.valueToTree(example)),
            schema.getKey());
      }
    }
    assertTrue(examples > 20, "only " + examples + " examples were found");
  }
}
