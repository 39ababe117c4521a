package agent.identity;

import agent.fuzz.FuzzInputs;
import agent.types.Refusal;
import java.util.List;

/** Labels, sets and patterns of labels, and the prefixes of labels that count. */
public final class LabelFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "k8s:app=web",
          "app",
          "k8s:app=web\nk8s:tier=1",
          "reserved:host",
          "a=b=c",
          "k8s:=x",
          "!io.kubernetes\nk8s:app",
          "any:x=",
          "cidr:10.0.0.0/8=",
          "a\na=1");

  private LabelFuzz() {}

  /** Reads the lines of an input as labels and as prefixes. */
  public static void fuzzerTestOneInput(byte[] input) {
    final List<String> lines = FuzzInputs.lines(input);
    try {
      final LabelSet labels = LabelSet.parse("labels", lines);
      FuzzInputs.assertSame(
          labels, LabelSet.parse("labels", labels.toStrings()), labels.toString());
      final LabelFilter.Split split = filter(lines).split(labels);
      if (split.identity().toStrings().size() + split.information().toStrings().size()
          != labels.toStrings().size()) {
        throw new AssertionError(labels + " is split into " + split);
      }
    } catch (Refusal refused) {
      // as documented
    }
    try {
      for (final LabelPattern pattern : LabelPattern.parseAll("labels", lines)) {
        pattern.isMetBy(LabelSet.EMPTY);
      }
    } catch (Refusal refused) {
      // as documented
    }
  }

  private static LabelFilter filter(List<String> lines) {
    try {
      return LabelFilter.of(lines);
    } catch (Refusal refused) {
      return LabelFilter.defaults();
    }
  }
}
