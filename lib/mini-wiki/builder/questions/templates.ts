/**
 * The wording of questions with one searched answer. `{e}` is the entity and `{y}` a year that a step needs. Every template has at
 * least four wordings (PopQA: one, as in the original); a sub-question has exactly one. Facts are named `type.attribute`.
 */

/** A fact that one search answers. */
export interface Relation {
  /** The wording of the sub-question, the same wherever the relation occurs. */
  sub: string;
  popqa: string[];
  nq: string[];
  triviaqa: string[];
}

// prettier-ignore
export const RELATIONS: Record<string, Relation> = {
  'film.director': {
    sub: 'Who directed {e}?', popqa: ['Who was the director of {e}?'],
    nq: ['who directed the movie {e}?', 'who is the director of {e}?', 'who was the film {e} directed by?', '{e} was directed by which filmmaker?'],
    triviaqa: ['Name the director of the film {e}.', 'Whose work as a director is the film {e}?', 'Which director made {e}?', 'The film {e} was the work of which director?'],
  },
  'film.year': {
    sub: 'In what year was {e} released?', popqa: ['In what year was {e} released?'],
    nq: ['when did the movie {e} come out?', 'what year was {e} released?', 'when was {e} first shown in cinemas?', 'in which year did {e} open?'],
    triviaqa: ['In which year did cinemas first show {e}?', 'The film {e} dates from which year?', 'Give the year of release of {e}.', '{e} reached cinemas in which year?'],
  },
  'film.minutes': {
    sub: 'How long is {e}?', popqa: ['What is the running time of {e}?'],
    nq: ['how long is the movie {e}?', 'what is the running time of {e}?', 'how many minutes does {e} last?', 'how long does {e} run?'],
    triviaqa: ['How many minutes long is {e}?', 'What is the length of the film {e}?', 'Give the running time of {e}.', 'The film {e} lasts how long?'],
  },
  'film.distributor': {
    sub: 'Who distributed {e}?', popqa: ['Who is the distributor of {e}?'],
    nq: ['which company distributed {e}?', 'who was the distributor of the film {e}?', 'who distributed the movie {e}?', 'what studio released {e}?'],
    triviaqa: ['Which company brought {e} to cinemas?', 'Name the distributor of {e}.', 'The film {e} was distributed by which company?', 'Which distributor handled {e}?'],
  },
  'film.genre': {
    sub: 'What genre is {e}?', popqa: ['What genre is {e}?'],
    nq: ['what genre is the movie {e}?', 'what kind of film is {e}?', 'what type of movie is {e}?', 'which genre does {e} belong to?'],
    triviaqa: ['To which genre does {e} belong?', 'Name the genre of the film {e}.', '{e} is a film of which genre?', 'As what kind of film is {e} known?'],
  },
  'director.film': {
    sub: 'Which film did {e} direct in {y}?', popqa: ['What film did {e} direct in {y}?'],
    nq: ['which movie did {e} direct in {y}?', 'what film did {e} make in {y}?', 'what is the {y} movie by {e}?', 'what movie by {e} came out in {y}?'],
    triviaqa: ['Which film from {y} did {e} direct?', 'Name the film that {e} directed in {y}.', 'In {y}, {e} directed which film?', '{e} was the director of which film from {y}?'],
  },
  'player.birthYear': {
    sub: 'In what year was {e} born?', popqa: ['In what year was {e} born?'],
    nq: ['when was {e} born?', 'what year was {e} born in?', 'in which year was baseball player {e} born?', 'what is the birth year of {e}?'],
    triviaqa: ['In which year was baseball player {e} born?', 'Give the year of birth of {e}.', 'The birth of {e} fell in which year?', 'Which year saw the birth of {e}?'],
  },
  'player.debutYear': {
    sub: 'In what year did {e} make a major league debut?', popqa: ['In what year was the debut of {e}?'],
    nq: ['when did {e} first play in the major leagues?', 'what year did {e} debut?', 'when was the major league debut of {e}?', 'in which year did {e} reach the majors?'],
    triviaqa: ['In which year did {e} first appear in the major leagues?', 'The major league career of {e} began in which year?', 'Give the debut year of {e}.', 'Which year saw the debut of {e}?'],
  },
  'player.birthPlace': {
    sub: 'Where was {e} born?', popqa: ['In what city was {e} born?'],
    nq: ['where was {e} born?', 'what city was {e} born in?', 'what is the birthplace of {e}?', 'where is baseball player {e} from?'],
    triviaqa: ['In which city was {e} born?', 'Name the birthplace of {e}.', 'Which city is the birthplace of baseball player {e}?', 'The player {e} was born in which city?'],
  },
  'player.college': {
    sub: 'Which college did {e} attend?', popqa: ['What college did {e} attend?'],
    nq: ['where did {e} go to college?', 'what college did {e} attend?', 'where did {e} play college baseball?', 'which college did {e} go to?'],
    triviaqa: ['Which college counts {e} among its players?', 'Name the college of {e}.', 'At which college did {e} study?', 'The player {e} attended which college?'],
  },
  'college.city': {
    sub: 'In which city is {e}?', popqa: ['In what city is {e}?'],
    nq: ['where is {e} located?', 'what city is {e} in?', 'where is the campus of {e}?', 'in which city is {e}?'],
    triviaqa: ['Which city is the home of {e}?', 'In which city would you find {e}?', 'Name the city of {e}.', '{e} stands in which city?'],
  },
  'city.country': {
    sub: 'In which country is {e}?', popqa: ['In what country is {e}?'],
    nq: ['what country is {e} in?', 'where is the city of {e}?', 'which country does {e} belong to?', 'in which country is {e}?'],
    triviaqa: ['In which country would you find the city of {e}?', 'Name the country of the city {e}.', 'The city of {e} lies in which country?', 'To which country does the city of {e} belong?'],
  },
  'usCity.state': {
    sub: 'In which state is {e}?', popqa: ['In what state is {e}?'],
    nq: ['what state is {e} in?', 'where in the united states is {e}?', 'which state does {e} belong to?', 'in which state is {e}?'],
    triviaqa: ['In which American state would you find {e}?', 'Name the state of the city {e}.', 'The city of {e} lies in which American state?', 'To which state does {e} belong?'],
  },
  'airport.city': {
    sub: 'Which city does {e} serve?', popqa: ['What city does {e} serve?'],
    nq: ['what city is {e} in?', 'which city does {e} serve?', 'where is {e}?', '{e} is the airport of which city?'],
    triviaqa: ['Which city would you visit from {e}?', 'Name the city served by {e}.', 'Travellers to which city land at {e}?', '{e} serves which city?'],
  },
  'airport.code': {
    sub: 'What is the code of {e}?', popqa: ['What is the code of {e}?'],
    nq: ['what is the code of {e}?', 'what is the airport code for {e}?', 'which code does {e} have?', 'what code stands for {e}?'],
    triviaqa: ['Which three letters stand for {e}?', 'Give the code of {e}.', 'Which code is on luggage bound for {e}?', 'By which code is {e} known?'],
  },
  'country.capital': {
    sub: 'What is the capital of {e}?', popqa: ['What is the capital of {e}?'],
    nq: ['what is the capital of {e}?', 'what is the capital city of {e}?', 'which city is the capital of {e}?', 'what city is {e} governed from?'],
    triviaqa: ['Which city is the capital of {e}?', 'Name the capital of {e}.', 'Of which city can it be said that it is the capital of {e}?', '{e} has which city as its capital?'],
  },
  'country.currency': {
    sub: 'What is the currency of {e}?', popqa: ['What is the currency of {e}?'],
    nq: ['what is the currency of {e}?', 'what money is used in {e}?', 'which currency does {e} use?', 'what do they pay with in {e}?'],
    triviaqa: ['With which currency would you pay in {e}?', 'Name the currency of {e}.', 'Which money is used in {e}?', 'Which currency circulates in {e}?'],
  },
  'country.language': {
    sub: 'What is the language of {e}?', popqa: ['What is the official language of {e}?'],
    nq: ['what language is spoken in {e}?', 'what is the official language of {e}?', 'which language do people speak in {e}?', 'what is the language of {e}?'],
    triviaqa: ['Which language is spoken in {e}?', 'Name the official language of {e}.', 'In {e}, which language has official status?', 'Which language would you hear in {e}?'],
  },
  'country.subregion': {
    sub: 'In which part of the world is {e}?', popqa: ['In what region is {e}?'],
    nq: ['what part of the world is {e} in?', 'what region is {e} in?', 'where in the world is {e}?', 'in which region is {e} located?'],
    triviaqa: ['In which part of the world does {e} lie?', 'Name the region of the world that holds {e}.', 'To which region does {e} belong?', '{e} belongs to which part of the world?'],
  },
  'country.neighbours': {
    sub: 'How many countries does {e} border?', popqa: ['How many countries does {e} border?'],
    nq: ['how many countries does {e} border?', 'how many neighbours does {e} have?', 'how many countries share a border with {e}?', 'how many countries are next to {e}?'],
    triviaqa: ['How many countries share a land border with {e}?', 'How many neighbours by land has {e}?', '{e} borders how many countries?', 'Give the number of countries that {e} borders.'],
  },
  'state.capital': {
    sub: 'What is the capital of {e}?', popqa: ['What is the capital of {e}?'],
    nq: ['what is the capital of the state of {e}?', 'what is the state capital of {e}?', 'which city is the capital of {e}?', 'what city is the state of {e} governed from?'],
    triviaqa: ['Which city is the capital of the American state of {e}?', 'Name the state capital of {e}.', 'The state of {e} has which capital?', 'Which city is the seat of government of the state of {e}?'],
  },
  'element.symbol': {
    sub: 'What is the symbol of {e}?', popqa: ['What is the symbol of {e}?'],
    nq: ['what is the symbol for {e}?', 'what is the chemical symbol of {e}?', 'which symbol does {e} have?', 'what letters stand for the element {e}?'],
    triviaqa: ['Which symbol stands for the element {e}?', 'Give the chemical symbol of {e}.', 'In the periodic table, which symbol has {e}?', 'By which symbol do chemists know {e}?'],
  },
  'element.atomicNumber': {
    sub: 'What is the atomic number of {e}?', popqa: ['What is the atomic number of {e}?'],
    nq: ['what is the atomic number of {e}?', 'which atomic number does {e} have?', 'what number is {e} in the periodic table?', 'how many protons does {e} have?'],
    triviaqa: ['Which atomic number belongs to {e}?', 'Give the atomic number of {e}.', 'How many protons are in an atom of {e}?', 'At which number of the periodic table stands {e}?'],
  },
  'element.discoveryYear': {
    sub: 'In what year was {e} discovered?', popqa: ['In what year was {e} discovered?'],
    nq: ['when was {e} discovered?', 'what year was {e} discovered?', 'when was the element {e} found?', 'in which year did chemists discover {e}?'],
    triviaqa: ['In which year was the element {e} discovered?', 'Give the year in which {e} was discovered.', 'The discovery of {e} dates from which year?', 'Which year saw the discovery of {e}?'],
  },
};

/** Sub-questions that occur only in chains and comparisons. */
export const OTHER_SUB_QUESTIONS: Record<string, string> = {
  'element.discoveryCountry': 'In which country was {e} discovered?',
  'airport.altitude': 'How high is {e}?',
  'player.weight': 'How much did {e} weigh?',
};

/** A chain of searches. */
export interface ChainTemplate {
  /** A type and attributes that each lead to the entity of the next; `film` stands for the director's film of `{y}`. */
  path: string;
  /** 2Wiki's inference: the relations compose to one that the question names. */
  inference?: boolean;
  wordings: string[];
}

// prettier-ignore
export const CHAINS: Record<string, ChainTemplate> = {
  'film-director-film': {
    path: 'film.director.film',
    wordings: ['Which film did the director of {e} make in {y}?', 'The director of {e} made which film in {y}?', 'What film from {y} was made by the director of {e}?', 'Name the {y} film by the director of {e}.', 'The director of {e} also directed what film in {y}?'],
  },
  'player-college-city': {
    path: 'player.college.city',
    wordings: ['In which city is the college that {e} attended?', 'What is the home city of the college of {e}?', '{e} attended a college in which city?', 'The college where {e} played is located in which city?', 'In what city did {e} go to college?'],
  },
  'airport-city-country': {
    path: 'airport.city.country', inference: true,
    wordings: ['In which country is {e}?', 'Which country is {e} located in?', '{e} is an airport of which country?', 'What country does {e} belong to?'],
  },
  'player-birthplace-state': {
    path: 'player.birthPlace.state', inference: true,
    wordings: ['In which state was {e} born?', 'Which American state is the birthplace of {e}?', 'What state was {e} born in?', '{e} was born in which state of the United States?'],
  },
  'player-birthplace-country': {
    path: 'player.birthPlace.country', inference: true,
    wordings: ['In which country was {e} born?', 'Which country is the birthplace of {e}?', 'What country was {e} born in?', '{e} was born in which country?'],
  },
  'college-city-state': {
    path: 'college.city.state', inference: true,
    wordings: ['In which state is {e}?', 'Which American state is {e} located in?', '{e} is a college in which state?', 'What state is home to {e}?'],
  },
  'city-country-capital': {
    path: 'city.country.capital',
    wordings: ['What is the capital of the country where {e} is located?', 'Which city is the capital of the country that {e} belongs to?', '{e} is in a country with which capital?', 'Name the capital of the country of {e}.'],
  },
  'city-country-currency': {
    path: 'city.country.currency',
    wordings: ['What currency is used in the country where {e} is located?', 'With which currency do people pay in the country of {e}?', '{e} is in a country with which currency?', 'What is the currency of the country that {e} belongs to?'],
  },
  'city-country-language': {
    path: 'city.country.language',
    wordings: ['What is the official language of the country where {e} is located?', 'Which language is spoken in the country of {e}?', '{e} is in a country with which official language?', 'What language is official in the country that {e} belongs to?'],
  },
  'usCity-state-capital': {
    path: 'usCity.state.capital',
    wordings: ['What is the capital of the state where {e} is located?', 'Which city is the capital of the state that {e} belongs to?', '{e} is in a state with which capital?', 'Name the capital of the state of the city {e}.'],
  },
  'element-country-capital': {
    path: 'element.discoveryCountry.capital',
    wordings: ['What is the capital of the country where {e} was discovered?', '{e} was discovered in a country with which capital?', 'Name the capital of the country in which {e} was discovered.', 'Which city is the capital of the country where the element {e} was found?'],
  },
  'film-director-film-distributor': {
    path: 'film.director.film.distributor',
    wordings: ['Who distributed the film that the director of {e} made in {y}?', 'Which company distributed the {y} film by the director of {e}?', 'The director of {e} made a film in {y}; who was its distributor?', 'What was the distributor of the film from {y} whose director also made {e}?'],
  },
  'film-director-film-minutes': {
    path: 'film.director.film.minutes',
    wordings: ['How long is the film that the director of {e} made in {y}?', 'What is the running time of the {y} film by the director of {e}?', 'The director of {e} made a film in {y}; how long is it?', 'How many minutes does the film from {y} last whose director also made {e}?'],
  },
  'airport-city-country-capital': {
    path: 'airport.city.country.capital',
    wordings: ['What is the capital of the country with the city served by {e}?', 'The city served by {e} is in a country with which capital?', 'Name the capital of the country that contains the city {e} serves.', '{e} serves a city; what is the capital of its country?'],
  },
  'airport-city-country-currency': {
    path: 'airport.city.country.currency',
    wordings: ['What is the currency of the country with the city served by {e}?', 'The city served by {e} is in a country with which currency?', 'Name the currency of the country that contains the city {e} serves.', '{e} serves a city; what is the currency of its country?'],
  },
  'player-college-city-state': {
    path: 'player.college.city.state',
    wordings: ['In which state is the city with the college that {e} attended?', 'The college of {e} is in a city of which state?', 'Name the state with the city where {e} went to college.', '{e} attended a college; in which state is its city?'],
  },
  'player-birthplace-state-capital': {
    path: 'player.birthPlace.state.capital',
    wordings: ['What is the capital of the state with the birthplace of {e}?', 'The birthplace of {e} is in a state with which capital?', 'Name the capital of the state in which the birthplace of {e} lies.', '{e} was born in a city; what is the capital of its state?'],
  },
  'college-city-state-capital': {
    path: 'college.city.state.capital',
    wordings: ['What is the capital of the state with the city of {e}?', 'The city of {e} is in a state with which capital?', 'Name the capital of the state in which the city of {e} lies.', '{e} stands in a city; what is the capital of its state?'],
  },
  'player-college-city-state-capital': {
    path: 'player.college.city.state.capital',
    wordings: ['What is the capital of the state with the city of the college that {e} attended?', 'The college of {e} is in a city whose state has which capital?', 'Name the capital of the state with the city where {e} went to college.', '{e} attended a college in a city; what is the capital of the state of that city?'],
  },
};
