package agent.launcher.options;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Converts the texts given for one option to its value. */
final class OptionParser {
  private static final Pattern DURATION =
      Pattern.compile("(?:(\\d{1,6})h)?(?:(\\d{1,6})m)?(?:(\\d{1,9})s)?");

  private OptionParser() {}

  static Object parse(AgentOption option, List<String> texts) {
    return switch (option.type()) {
      case BOOL -> bool(option, texts.getLast());
      case INT -> inRange(option, texts.getLast(), integer(option, texts.getLast()));
      case DURATION -> inRange(option, texts.getLast(), seconds(option, texts.getLast()));
      case STRING -> choice(option, texts.getLast());
      case STRINGS -> elements(texts);
      case MAP -> pairs(option, texts);
    };
  }

  private static boolean bool(AgentOption option, String text) {
    return switch (text) {
      case "true", "1" -> true;
      case "false", "0" -> false;
      default -> throw bad(option, text, "not true or false");
    };
  }

  private static long integer(AgentOption option, String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw bad(option, text, "not a number");
    }
  }

  private static long seconds(AgentOption option, String text) {
    final Matcher matcher = DURATION.matcher(text);
    if (text.isEmpty() || !matcher.matches()) {
      try {
        return Long.parseLong(text);
      } catch (NumberFormatException e) {
        throw bad(option, text, "neither seconds nor a duration such as 5m0s");
      }
    }
    return part(matcher, 1) * 3600 + part(matcher, 2) * 60 + part(matcher, 3);
  }

  private static long part(Matcher matcher, int group) {
    return matcher.group(group) == null ? 0 : Long.parseLong(matcher.group(group));
  }

  private static long inRange(AgentOption option, String text, long number) {
    if (!option.choices().isEmpty()) {
      choice(option, text);
    }
    if (number < option.minimum() || number > option.maximum()) {
      throw bad(option, text, "not between " + option.minimum() + " and " + option.maximum());
    }
    return number;
  }

  private static String choice(AgentOption option, String text) {
    if (option.choices().isEmpty()) {
      return text;
    }
    for (final String choice : option.choices()) {
      if (choice.equalsIgnoreCase(text)) {
        return choice;
      }
    }
    throw bad(option, text, "not one of " + String.join(", ", option.choices()));
  }

  private static List<String> elements(List<String> texts) {
    final List<String> elements = new ArrayList<>();
    for (final String text : texts) {
      for (final String element : text.split(",")) {
        if (!element.isBlank()) {
          elements.add(element.strip());
        }
      }
    }
    return List.copyOf(elements);
  }

  private static Map<String, String> pairs(AgentOption option, List<String> texts) {
    final Map<String, String> pairs = new LinkedHashMap<>();
    for (final String element : elements(texts)) {
      final int equals = element.indexOf('=');
      if (equals < 1) {
        // The text is not quoted: it may be part of a password, and the message is logged.
        throw new OptionException("--" + option.name() + ": not in the form key=value");
      }
      pairs.put(element.substring(0, equals), element.substring(equals + 1));
    }
    return Collections.unmodifiableMap(pairs);
  }

  static OptionException bad(AgentOption option, String text, String why) {
    return new OptionException("--" + option.name() + ": '" + text + "': " + why);
  }
}
