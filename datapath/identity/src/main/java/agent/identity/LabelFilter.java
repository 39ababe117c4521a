package agent.identity;

import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Decides which labels count for the identity of an endpoint (option {@code --labels}).
 *
 * <p>An entry is {@code [source:]prefix}, a prefix of the label's key; with {@code !} before it the
 * labels are left out. The longest entry that fits a label decides; between two of the same length
 * the one that leaves out. A label that no entry fits counts, unless the option names an entry
 * without {@code !}: then only what is named counts. Labels of source {@code reserved} always
 * count.
 *
 * <p>The option's entries add to defaults that leave out what changes with every roll-out: {@code
 * !io.kubernetes}, {@code !kubernetes.io}, {@code !k8s.io}, {@code !pod-template-hash}, {@code
 * !pod-template-generation}, {@code !controller-revision-hash}, {@code !annotation.}, and that keep
 * {@code io.kubernetes.pod.namespace} and {@code app.kubernetes.io}.
 */
public final class LabelFilter {
  private static final List<String> DEFAULTS =
      List.of(
          "io.kubernetes.pod.namespace",
          "app.kubernetes.io",
          "!io.kubernetes",
          "!kubernetes.io",
          "!k8s.io",
          "!pod-template-hash",
          "!pod-template-generation",
          "!controller-revision-hash",
          "!annotation.");

  /**
   * The labels of an endpoint in two parts.
   *
   * @param identity the labels that count
   * @param information the labels that do not
   */
  public record Split(LabelSet identity, LabelSet information) {}

  private record Entry(boolean excluded, String source, String prefix) {
    boolean fits(Label label) {
      return (source.isEmpty() || source.equals(label.source())) && label.key().startsWith(prefix);
    }
  }

  private final List<Entry> entries = new ArrayList<>();
  private final boolean onlyNamed;
  private final FixedIdentities fixed;

  private LabelFilter(List<Entry> defaults, List<Entry> named, FixedIdentities fixed) {
    entries.addAll(defaults);
    entries.addAll(named);
    onlyNamed = named.stream().anyMatch(entry -> !entry.excluded());
    this.fixed = fixed;
  }

  /** Returns the filter where the option is not given. */
  public static LabelFilter defaults() {
    return of(List.of());
  }

  /**
   * Returns the filter with these entries of the option beside the defaults.
   *
   * @param entries the entries
   * @return the filter
   * @throws Refusal INVALID, of field {@code labels}
   */
  public static LabelFilter of(List<String> entries) {
    return of(DEFAULTS, List.of(), entries, FixedIdentities.NONE);
  }

  /**
   * Returns the filter with the entries of a file in place of the defaults.
   *
   * @param file the entries of {@code --label-prefix-file}; empty for the defaults
   * @param option the entries of {@code --labels}
   * @param fixed identities that an endpoint asks for by a label
   * @return the filter
   * @throws Refusal INVALID, of field {@code label-prefix-file} or {@code labels}
   */
  public static LabelFilter of(
      Optional<List<String>> file, List<String> option, FixedIdentities fixed) {
    return file.isPresent()
        ? of(List.of(), file.get(), option, fixed)
        : of(DEFAULTS, List.of(), option, fixed);
  }

  private static LabelFilter of(
      List<String> defaults, List<String> file, List<String> option, FixedIdentities fixed) {
    final List<Entry> named = new ArrayList<>(entries("label-prefix-file", file));
    named.addAll(entries("labels", option));
    return new LabelFilter(entries("labels", defaults), named, fixed);
  }

  private static List<Entry> entries(String field, List<String> texts) {
    return texts.stream().map(text -> entry(field, text)).toList();
  }

  private static Entry entry(String field, String text) {
    final boolean excluded = text.startsWith("!");
    final String rest = excluded ? text.substring(1) : text;
    final int colon = rest.indexOf(':');
    final String source = colon < 0 ? "" : rest.substring(0, colon);
    final String prefix = rest.substring(colon + 1);
    if (rest.isEmpty() || colon == 0 || rest.indexOf('=') >= 0) {
      throw Refusal.invalid(field, "'" + text + "' is not a label prefix");
    }
    return new Entry(excluded, source, prefix);
  }

  /** Splits the labels of an endpoint into those that count for its identity and the others. */
  public Split split(LabelSet labels) {
    final Optional<LabelSet> chosen = fixed.askedFor(labels);
    if (chosen.isPresent()) {
      return new Split(chosen.get(), labels);
    }
    final List<Label> counting = new ArrayList<>();
    final List<Label> others = new ArrayList<>();
    for (final Label label : labels) {
      (counts(label) ? counting : others).add(label);
    }
    return new Split(LabelSet.of(counting), LabelSet.of(others));
  }

  private boolean counts(Label label) {
    if (label.source().equals(Label.RESERVED)) {
      return true;
    }
    int included = -1;
    int excluded = -1;
    for (final Entry entry : entries) {
      if (entry.fits(label)) {
        final int length = entry.source().length() + entry.prefix().length();
        if (entry.excluded()) {
          excluded = Math.max(excluded, length);
        } else {
          included = Math.max(included, length);
        }
      }
    }
    return included > excluded || !onlyNamed && excluded < 0;
  }
}
