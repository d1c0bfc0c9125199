"""Ten functions in four languages, to be disguised by the tests of code."""

PYTHON = '''
def bubble_sort(values):
    count = len(values)
    for last in range(count - 1, 0, -1):
        swapped = False
        for at in range(last):
            if values[at] > values[at + 1]:
                values[at], values[at + 1] = values[at + 1], values[at]
                swapped = True
        if not swapped:
            break
    return values
---
def binary_search(values, wanted):
    low, high = 0, len(values) - 1
    while low <= high:
        middle = (low + high) // 2
        if values[middle] == wanted:
            return middle
        elif values[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    raise KeyError("the value is missing")
---
def primes(limit):
    is_prime = [True] * (limit + 1)
    found = []
    for number in range(2, limit + 1):
        if is_prime[number]:
            found.append(number)
            is_prime[number * number :: number] = [False] * len(is_prime[number * number :: number])
    return found
---
def count_words(path):
    counts = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            for word in line.lower().split():
                word = word.strip(".,;:!?")
                if word:
                    counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])[:10]
---
def multiply(left, right):
    if len(left[0]) != len(right):
        raise ValueError("the shapes do not fit")
    return [
        [sum(a * b for a, b in zip(row, column)) for column in zip(*right)]
        for row in left
    ]
---
class Account:
    def __init__(self, owner, balance=0.0):
        self.owner = owner
        self.balance = balance
        self.history = []

    def withdraw(self, amount):
        if not 0 < amount <= self.balance:
            return None
        self.balance -= amount
        self.history += [("withdraw", amount)]
        return self.balance
---
def brackets_match(text):
    opened = []
    for sign in text:
        if sign in "([{":
            opened.append(sign)
        elif sign in ")]}":
            if not opened or opened.pop() + sign not in ("()", "[]", "{}"):
                return False
    return not opened
---
async def fetch_all(session, addresses, retries=3):
    try:
        async with session.pool() as pool:
            async for page in pool.stream(addresses):
                yield await page.text()
    except TimeoutError:
        assert retries > 0, "no more retries"
    finally:
        await session.close()
---
def caesar(text, shift):
    result = ""
    for char in text:
        if "a" <= char <= "z":
            result += chr((ord(char) - ord("a") + shift) % 26 + ord("a"))
        elif char.isupper():
            result += chr((ord(char) - 65 + shift) % 26 + 65)
        else:
            result += char
    return result
---
def paths(tree, leaf):
    """All the ways from the root to a leaf."""
    if tree is None:
        return
    if tree.value == leaf and not (tree.left or tree.right):
        yield [leaf]
    for child in tree.left, tree.right:
        for rest in paths(child, leaf):
            yield [tree.value, *rest]
'''

JAVA = """
static int[] bubbleSort(int[] values) {
    for (int last = values.length - 1; last > 0; last--) {
        boolean swapped = false;
        for (int at = 0; at < last; at++) {
            if (values[at] > values[at + 1]) {
                int spare = values[at];
                values[at] = values[at + 1];
                values[at + 1] = spare;
                swapped = true;
            }
        }
        if (!swapped) break;
    }
    return values;
}
---
public static int search(List<String> names, String wanted) {
    int low = 0, high = names.size();
    while (low < high) {
        int middle = (low + high) >>> 1;
        int order = names.get(middle).compareTo(wanted);
        if (order == 0) return middle;
        if (order < 0) low = middle + 1; else high = middle;
    }
    throw new NoSuchElementException("missing: " + wanted);
}
---
private BitSet sieve(final int limit) {
    BitSet crossed = new BitSet(limit + 1);
    long number = 2;
    do {
        if (!crossed.get((int) number)) {
            for (long many = number * number; many <= limit; many += number) crossed.set((int) many);
        }
        number += number == 2 ? 1 : 2;
    } while (number * number <= limit);
    return crossed;
}
---
Map<String, Integer> countWords(Path file) throws IOException {
    Map<String, Integer> counts = new TreeMap<>();
    try (BufferedReader reader = Files.newBufferedReader(file)) {
        String line;
        while ((line = reader.readLine()) != null) {
            for (String word : line.split(" ")) counts.merge(word, 1, Integer::sum);
        }
    }
    return counts;
}
---
public double[][] multiply(double[][] left, double[][] right) {
    double[][] product = new double[left.length][right[0].length];
    for (int row = 0; row < left.length; row++)
        for (int column = 0; column < right[0].length; column++)
            for (int place = 0; place < right.length; place++)
                product[row][column] += left[row][place] * right[place][column];
    return product;
}
---
class Account implements Comparable<Account> {
    private final String owner;
    protected double balance;
    Account(String owner) { this.owner = owner; this.balance = 0.0; }
    synchronized void withdraw(double amount) {
        if (amount > balance) throw new IllegalArgumentException(owner);
        balance -= amount;
    }
    @Override public int compareTo(Account other) { return Double.compare(balance, other.balance); }
}
---
boolean matches(String text) {
    Deque<Character> opened = new ArrayDeque<>();
    for (char sign : text.toCharArray()) {
        switch (sign) {
            case '(': case '[': opened.push(sign); break;
            case ')': if (opened.isEmpty() || opened.pop() != '(') return false; break;
            case ']': if (opened.isEmpty() || opened.pop() != '[') return false; break;
            default:
        }
    }
    return opened.isEmpty();
}
---
List<String> longest(Collection<Person> people) {
    return people.stream()
        .filter(person -> person.age() >= 18 && !person.name().isBlank())
        .sorted(Comparator.comparing(Person::name).reversed())
        .map(person -> person.name().toUpperCase() + ";")
        .limit(20)
        .collect(Collectors.toList());
}
---
static String caesar(String text, int shift) {
    StringBuilder result = new StringBuilder();
    for (int at = 0; at < text.length(); at++) {
        char c = text.charAt(at);
        result.append(c >= 'a' && c <= 'z' ? (char) ((c - 'a' + shift) % 26 + 'a') : c);
    }
    return result.toString();
}
---
interface Shape { double area(); }
enum Size { SMALL, LARGE }
abstract class Round implements Shape {
    static final double PI = 3.14159;
    abstract double radius();
    public double area() { return PI * radius() * radius(); }
    Size size() { return area() < 10 ? Size.SMALL : Size.LARGE; }
}
"""

C = """
void bubble_sort(int *values, size_t count) {
    int swapped;
    do {
        swapped = 0;
        for (size_t at = 1; at < count; ++at) {
            if (values[at - 1] > values[at]) {
                int spare = values[at];
                values[at] = values[at - 1];
                values[at - 1] = spare;
                swapped = 1;
            }
        }
    } while (swapped);
}
---
const char *find(const char *text, char wanted) {
    while (*text != '\\0') {
        if (*text++ == wanted)
            return text - 1;
    }
    return NULL;
}
---
static unsigned count_primes(unsigned limit) {
    unsigned char *crossed = calloc(limit + 1, sizeof(*crossed));
    unsigned found = 0;
    for (unsigned number = 2; number <= limit; number++) {
        if (crossed[number]) continue;
        found++;
        for (unsigned long many = 2ul * number; many <= limit; many += number) crossed[many] = 1;
    }
    free(crossed);
    return found;
}
---
int main(int argc, char **argv) {
    FILE *input = argc > 1 ? fopen(argv[1], "r") : stdin;
    int letter, in_word = 0, words = 0;
    if (!input) { perror(argv[0]); return 1; }
    while ((letter = getc(input)) != EOF) {
        if (letter == ' ' || letter == '\\n') in_word = 0;
        else if (!in_word) { in_word = 1; words++; }
    }
    printf("%d words\\n", words);
    return fclose(input);
}
---
struct node *reverse(struct node *head) {
    struct node *before = NULL;
    while (head) {
        struct node *next = head->next;
        head->next = before;
        before = head;
        head = next;
    }
    return before;
}
---
typedef struct { char owner[32]; long cents; } account;
enum outcome { DONE, TOO_LITTLE };
enum outcome withdraw(account *from, account *to, long cents) {
    if (from->cents < cents) return TOO_LITTLE;
    from->cents -= cents;
    to->cents += cents;
    return DONE;
}
---
int matches(const char *text) {
    char stack[256];
    int depth = 0;
    for (; *text; text++) {
        switch (*text) {
        case '(': stack[depth++] = ')'; break;
        case '[': stack[depth++] = ']'; break;
        case ')':
        case ']':
            if (depth == 0 || stack[--depth] != *text) return 0;
        }
    }
    return depth == 0;
}
---
#define ROUNDS 16
static inline uint32_t mixed(uint32_t state, const uint8_t key[4]) {
    register int round;
    for (round = ROUNDS; round --> 0;) {
        state ^= (uint32_t)key[round & 3] << 8;
        state = (state << 13) | (state >> 19);
        state = ~state + 0x9E3779B9u;
    }
    return state;
}
---
char *caesar(char *text, int shift) {
    char *at = text;
    for (; *at; at++)
        if (islower(*at)) *at = (*at - 'a' + shift) % 26 + 'a';
        else if (isupper(*at)) *at = (*at - 'A' + shift) % 26 + 'A';
    return text;
}
---
double integral(double (*f)(double), double from, double to, int steps) {
    double width = (to - from) / steps, sum = .5 * (f(from) + f(to));
    volatile int step = 1;
    goto test;
again:
    sum += f(from + width * step++);
test:
    if (step < steps) goto again;
    return sum * width;
}
"""

JAVASCRIPT = """
function bubbleSort(values) {
  let swapped = true;
  while (swapped) {
    swapped = false;
    for (let at = 0; at + 1 < values.length; at++) {
      if (values[at] > values[at + 1]) {
        [values[at], values[at + 1]] = [values[at + 1], values[at]];
        swapped = true;
      }
    }
  }
  return values;
}
---
export default class Queue {
  constructor(limit = 100) {
    this.items = new Array();
    this.limit = limit;
  }
  add(item) {
    if (this.items.length === this.limit) throw new RangeError(`full: ${this.limit}`);
    return this.items.push(item);
  }
  get size() { return this.items.length; }
}
---
const sieve = (limit) => {
  const crossed = new Uint8Array(limit + 1);
  const found = [];
  for (let number = 2; number <= limit; number += 1) {
    if (crossed[number] !== 0) continue;
    found.push(number);
    for (let many = number ** 2; many <= limit; many += number) crossed[many] = 1;
  }
  return found;
};
---
async function countWords(address) {
  const response = await fetch(address);
  if (!response.ok) { throw new Error("no answer: " + response.status); }
  const counts = {};
  for (const word of (await response.text()).split(" ")) {
    counts[word] = (counts[word] || 0) + 1;
  }
  return Object.entries(counts).sort((a, b) => b[1] - a[1]);
}
---
function debounce(action, delay) {
  var timer = null;
  return function () {
    var self = this, given = arguments;
    clearTimeout(timer);
    timer = setTimeout(function () { action.apply(self, given); }, delay);
  };
}
---
document.querySelectorAll("form.order").forEach((form) => {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const total = [...form.elements].map((field) => Number(field.value)).reduce((a, b) => a + b, 0);
    if (total > 0 && window.confirm(`Pay ${total}?`)) form.submit();
    else form.reset();
  });
});
---
function matches(text) {
  const closing = { "(": ")", "[": "]", "{": "}" };
  const expected = [];
  for (const sign of text) {
    if (sign in closing) expected.push(closing[sign]);
    else if (Object.values(closing).includes(sign) && expected.pop() !== sign) return false;
  }
  return expected.length === 0;
}
---
module.exports = function* walk(tree, depth = 0) {
  switch (typeof tree) {
    case "undefined":
      return;
    case "object":
      for (const key in tree) {
        yield* walk(tree[key], depth + 1);
      }
      break;
    default:
      yield { value: tree, depth };
  }
};
---
const caesar = (text, shift) => {
  if (text === undefined) return null;
  return text.replaceAll(LETTER, (letter) => {
    const first = letter <= "Z" ? 65 : 97;
    return letters.at(((letter.charCodeAt(0) - first + shift) % 26) + first);
  });
};
---
export function useCounter(start) {
  const [count, setCount] = useState(start ?? 0);
  useEffect(() => {
    if (count >= 10) document.title = "many";
    return () => { document.title = ""; };
  }, [count]);
  return { count, increase: () => setCount((old) => old + 1), reset: () => setCount(start) };
}
"""

FUNCTIONS = {
    language: [source.strip("\n") for source in sources.split("\n---\n")]
    for language, sources in (("Python", PYTHON), ("Java", JAVA), ("C", C), ("JavaScript", JAVASCRIPT))
}
