// Asks the storyteller in its worker, one question at a time.

const SCRIPT = "The model could not be loaded: its script is missing, or failed.";
const WORKERS = "The model could not be loaded: this browser runs no workers.";

/**
 * {ask(question), arrived, problem, about}. file: of the weights, of `size` bytes; script: another
 * worker that answers alike. Starts nothing before the first question, one that
 * lib/storyteller-reader.js takes; null only loads the model. ask returns false while another
 * question is in work: the caller asks again after it. onAnswer(reading, question) hears of each
 * answer; then onChange() does, and of problems, and of the model's arriving.
 */
export function askStoryteller(
  {file, size, script = "./storyteller-worker.js"},
  {onChange, onAnswer},
) {
  let worker = null;
  let asked; // the question in work
  const asking = {
    /** How much has arrived of the model, 0 to 1; null before it is asked for, and when it is there. */
    arrived: null,
    problem: "", // in words
    about: null, // the question of the problem
    ask,
  };

  function start() {
    const made = new Worker(new URL(script, import.meta.url), {type: "module"});
    made.onmessage = ({data}) => hear(data);
    made.onerror = (event) => {
      event.preventDefault();
      worker = null; // the next question tries again
      hear({problem: SCRIPT});
    };
    asking.arrived = 0;
    setTimeout(onChange);
    return made;
  }

  function ask(question) {
    if (asked !== undefined) return false;
    asked = question;
    try {
      worker = worker ?? start();
      worker.postMessage({file, question});
    } catch {
      setTimeout(() => hear({problem: WORKERS}));
    }
    return true;
  }

  function hear({bytes, reading, problem = ""}) {
    if (bytes === undefined) {
      const question = asked;
      asked = undefined;
      Object.assign(asking, {arrived: null, problem, about: question});
      if (!problem) onAnswer(reading, question);
    } else asking.arrived = Math.min(1, bytes / size);
    onChange();
  }

  return asking;
}
