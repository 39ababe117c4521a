package agent.maps.btf.generator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class HeaderCommentsTest {
  private final HeaderComments comments = new HeaderComments(SampleTypes.HEADERS);

  @Test
  void shouldReadTheCommentOfAnEnumAndOfEachConstant() {
    final HeaderComments.Declaration color = comments.of("enum color");
    assertEquals("maps/sample_map.h", color.header());
    assertEquals("A color.", color.comment());
    assertEquals(
        Map.of(
            "COLOR_RED", "as a rose", "COLOR_GREEN", "Before it.", "COLOR_BLUE", "over two lines"),
        color.members());
  }

  @Test
  void shouldReadNoCommentThatIsNotRightBefore() {
    assertEquals("", comments.of("struct inner").comment());
    final HeaderComments other =
        new HeaderComments(Map.of("a.h", "/* Of the file. */\n\nenum a {\n\tA,\n\tB\n};\n"));
    assertEquals("", other.of("enum a").comment());
    assertEquals(Map.of("A", "", "B", ""), other.of("enum a").members());
  }

  @Test
  void shouldReadParagraphs() {
    assertEquals(
        "What is known of a sample, <b> & {more} @home: enum color, struct inner, struct other."
            + "\n\nA second paragraph.",
        comments.of("struct sample").comment());
  }

  @Test
  void shouldReadTheCommentsOfMembersAlsoInsideAUnion() {
    final Map<String, String> members = comments.of("struct sample").members();
    assertEquals("enum color", members.get("kind"));
    assertEquals("", members.get("has_more"));
    assertEquals("by side", members.get("numbers"));
    assertEquals("in seconds", members.get("lifetime_s"));
    assertEquals("", members.get("totals"));
    assertEquals("With a flag, the other one.", members.get("packets"));
    assertEquals("of the peer", members.get("address"));
    assertEquals("", members.get("relay"));
  }

  @Test
  void shouldNotTakeACommentBehindTheLastConstantForOneOfTheNext() {
    final HeaderComments other =
        new HeaderComments(Map.of("a.h", "enum a {\n\tA = 1, /* one */\n\tB = 2 /* two */\n};\n"));
    assertEquals(Map.of("A", "one", "B", "two"), other.of("enum a").members());
  }
}
