package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.contract.WireFormat;
import agent.server.BodyLimits.Unit;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.json.JsonMapper;

/** The sentence for each way in which a body can be wrong. */
class RequestBodyTest {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();

  /** One member of every type that the contract has. */
  record Body(
      @JsonProperty("text") String text,
      @JsonProperty("flag") boolean flag,
      @JsonProperty("box") Boolean box,
      @JsonProperty("number") int number,
      @JsonProperty("long") Long large,
      @JsonProperty("ratio") double ratio,
      @JsonProperty("list") List<Part> list,
      @JsonProperty("part") Part part) {}

  /** A nested object. */
  record Part(@JsonProperty(value = "name", required = true) String name) {}

  private static Body read(InputStream body) {
    return RequestBody.read(
        MAPPER, MAPPER.constructType(Body.class), body, BodyLimits.DEFAULT, Unit.ENTRIES);
  }

  private static InputStream bytes(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String refusal(String body) {
    final HttpRefusal refusal = assertThrows(HttpRefusal.class, () -> read(bytes(body)), body);
    assertEquals(400, refusal.status());
    return refusal.getMessage();
  }

  @Test
  void shouldReadEveryMember() {
    final String body =
        "{'text':'t','flag':true,'box':false,'number':1,'long':2,'ratio':0.5,"
            + "'list':[{'name':'a'}],'part':{'name':'b'}}";
    assertEquals(
        new Body("t", true, false, 1, 2L, 0.5, List.of(new Part("a")), new Part("b")),
        read(bytes(body.replace('\'', '"'))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'text':7}|text: a string is expected at line 1, column 9",
        "{'flag':'true'}|flag: true or false is expected at line 1, column 9",
        "{'box':1}|box: true or false is expected at line 1, column 8",
        "{'number':'1'}|number: an integer is expected at line 1, column 11",
        "{'number':1.5}|number: an integer is expected at line 1, column 11",
        "{'number':2147483648}|number: a number is out of range at line 1, column 21",
        "{'long':[]}|long: an integer is expected at line 1, column 9",
        "{'ratio':'1'}|ratio: a number is expected at line 1, column 10",
        "{'list':{}}|list: an array is expected at line 1, column 9",
        "{'part':[]}|part: an object is expected at line 1, column 9",
        "{'list':[{'name':'a'},7]}|list[1]: an object is expected at line 1, column 23",
        "{'list':[null]}|list[0]: is null",
        "{'flag':null}|flag: true or false is expected at line 1, column 9",
        "{'part':{}}|part.name: is missing",
        "{'list':[{'name':'a'},{}]}|list[1].name: is missing",
        "{'part':{'name':'b','x':1}}|part.x: is not a known field",
        "{'a\\u0007b':1}|a?b: is not a known field",
        "{'text':'a\u0007b'}|body: malformed JSON at line 1, column 11: Illegal unquoted character",
        "null|body: is null, an object is expected",
        "[]|body: an object is expected at line 1, column 1",
      })
  void shouldNameTheMemberAndWhatIsExpected(String body, String message) {
    assertEquals(message, refusal(body.replace('\'', '"')));
  }

  @Test
  void shouldNameWhatIsMissingInTheBodyItself() {
    final HttpRefusal refusal =
        assertThrows(
            HttpRefusal.class,
            () ->
                RequestBody.read(
                    MAPPER,
                    MAPPER.constructType(Part.class),
                    bytes("{}"),
                    BodyLimits.DEFAULT,
                    Unit.ENTRIES));
    assertEquals("name: is missing", refusal.getMessage());
  }

  @Test
  void shouldSayThatAnotherValueIsExpectedWhereItIsNotKnownWhich() {
    final JacksonException unknown =
        MismatchedInputException.from((JsonParser) null, (Class<?>) null, "planned");
    assertEquals("body: another value is expected", RequestBody.refusal(unknown).getMessage());
  }

  @Test
  void shouldSayWhatIsTooLongOrTooDeep() {
    final String deep = refusal("{\"other\":" + "[".repeat(70));
    assertEquals("is nested too deeply", deep.replaceAll("^.*?: | at line.*$", ""));
    final String digits = refusal("{\"number\":" + "1".repeat(70) + "}");
    assertEquals("a number has too many digits", digits.replaceAll("^.*?: | at line.*$", ""));
  }

  @Test
  void shouldCutALongNameAfter200Characters() {
    final String name = "n".repeat(200);
    assertEquals(name + ": is not a known field", refusal("{\"" + name + "\":1}"));
    assertEquals(name + "...: is not a known field", refusal("{\"" + name + "n\":1}"));
  }

  @Test
  void shouldTellALostConnectionFromAMalformedBody() {
    final IOException reset = new IOException("connection reset");
    final InputStream body =
        new InputStream() {
          @Override
          public int read() throws IOException {
            throw reset;
          }
        };
    assertSame(reset, assertThrows(JacksonIOException.class, () -> read(body)).getCause());
  }
}
